"""The other methods on equal terms: each with the encoder of its publication and with GIRL's own.

On the first seed both are tried, and the one that validates better goes on to the other seeds: what a method is worth
should not hang on an encoder that suits the dataset less than GIRL's does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from girl.lab.cells import Cell, Results
from girl.methods.registry import find_method
from girl.training.recipe import Recipe, method_recipe

#: Behind a method's name: with GIRL's encoder for the dataset.
SAME = " same"


def both(methods: Sequence[str]) -> list[str]:
    """Each method with either encoder."""
    return [name for method in methods for name in (method, method + SAME)]


def peer_recipe(method: str, dataset: str, limit: float) -> Recipe:
    """What a method's publication gives, ended after so many seconds; the encoder is GIRL's if the name says so.

    But for what the method does not work without.
    """
    name = method.removesuffix(SAME)
    found = method_recipe(name, dataset).with_values({"train": {"time_limit": limit}})
    if method == name:
        return found
    encoder = method_recipe("girl", dataset).with_values({"encoder": find_method(name).required_encoder}).encoder
    return replace(found, encoder=encoder)


def chosen(rows: Sequence[dict[str, Any]], dataset: str, method: str) -> str | None:
    """The name with the encoder that validates better on the first seed and protocol; None until both are there."""
    scores = {
        row["method"]: row["rows"][0]["val"]
        for row in rows
        if row["dataset"] == dataset and row["seed"] == 0 and row["method"] in both([method])
    }
    return max(both([method]), key=scores.__getitem__) if len(scores) == 2 else None


def as_chosen(rows: Sequence[dict[str, Any]], methods: Sequence[str]) -> list[dict[str, Any]]:
    """The results with each of the methods under its own name, with the encoder that was chosen, and no other."""
    names = {
        (dataset, pick): method
        for dataset in {row["dataset"] for row in rows}
        for method in methods
        if (pick := chosen(rows, dataset, method)) is not None
    }
    found = []
    for row in rows:
        if row["method"] not in both(methods):
            found.append(row)
        elif (method := names.get((row["dataset"], row["method"]))) is not None:
            found.append(row | {"method": method, "encoder": "GIRL's" if row["method"].endswith(SAME) else "its own"})
    return found


def run_peers(
    names: Sequence[str],
    methods: Sequence[str],
    seeds: int,
    results: Results,
    cells: Callable[[Sequence[str], Sequence[str], int], list[Cell]],
    run: Callable[[list[Cell]], None],
) -> None:
    """Compute what is missing: both encoders on the first seed, then the chosen on the others, seed by seed.

    Args:
        names: the datasets.
        methods: which.
        seeds: how many.
        results: where they are kept.
        cells: makes the cells of some datasets, methods and seeds.
        run: computes those that are missing.
    """
    run(cells(names, both(methods), 1))
    rows = [row for name in names for row in results.of(name)]
    picked = {(name, chosen(rows, name, method)) for name in names for method in methods}
    rest = cells(names, both(methods), seeds)
    run([cell for cell in rest if cell.seed and (cell.dataset, cell.method) in picked])
