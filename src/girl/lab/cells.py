"""Experiments as cells: each is computed once, kept as soon as it is there, and never computed again."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import joblib
import torch
from filelock import FileLock
from rich.console import Console

from girl import datasets
from girl.datasets.dataset import NodeDataset
from girl.errors import InputError
from girl.files import write_json
from girl.lab.provenance import provenance
from girl.training.recipe import Recipe

#: The recipe of a method on a dataset.
RecipeOf = Callable[[str, str], Recipe | None]


@dataclass(frozen=True)
class Cell:
    """What is to be computed; equal cells give equal results."""

    dataset: str
    method: str
    seed: int
    recipe: dict[str, Any] | None = None
    """None where nothing is trained."""

    @property
    def key(self) -> str:
        """As a string, to be looked up."""
        return json.dumps(asdict(self), sort_keys=True)


def table_cells(
    names: Sequence[str], known: Collection[str], rows: Sequence[str], seeds: int, recipe_of: RecipeOf
) -> list[Cell]:
    """All cells of a table, seed by seed, so that an interrupted run has all rows of its first seeds.

    Args:
        names: the datasets.
        known: those that the table may have; another is a mistake.
        rows: the methods.
        seeds: how many.
        recipe_of: the recipe of a method on a dataset; None where nothing is trained.
    """
    for name in names:
        if name not in known:
            raise InputError(f"dataset: given {name!r}, expected one of {', '.join(known)}")
    made = []
    for seed in range(seeds):
        for name in names:
            for method in rows:
                recipe = recipe_of(method, name)
                made.append(Cell(name, method, seed, recipe.with_seed(seed).to_dict() if recipe else None))
    return made


@lru_cache(maxsize=2)
def kept_dataset(name: str, root: Path | None, mirror: Path | None) -> NodeDataset:
    """A dataset, kept for the cells that follow: most are of the same one."""
    return datasets.load(name, root, mirror)


class Results:
    """The results of an experiment in a folder: a JSON file for each dataset, a list of cells with what they gave."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def of(self, dataset: str) -> list[dict[str, Any]]:
        """The results of one dataset."""
        path = self.folder / f"{dataset}.json"
        found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"] if path.exists() else []
        return found

    def all(self) -> list[dict[str, Any]]:
        """All results."""
        return [row for path in sorted(self.folder.glob("*.json")) for row in self.of(path.stem)]

    def missing(self, cells: Iterable[Cell], probes: Collection[str] = ()) -> list[Cell]:
        """Those of ``cells`` that have no result, or none of one of ``probes``."""
        cells = list(cells)
        known: dict[str, set[str]] = {}
        for name in {cell.dataset for cell in cells}:
            known |= {cell_of(row).key: {one["probe"] for one in row["rows"]} for row in self.of(name)}
        return [cell for cell in cells if cell.key not in known or not set(probes) <= known[cell.key]]

    def add(self, cell: Cell, result: dict[str, Any]) -> None:
        """Keep a result.

        One of the same dataset, method and seed with another recipe is replaced; of the same recipe, what other probes
        gave stays. Several processes may write at a time.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder / f".{cell.dataset}.lock"):
            place, rows = (cell.dataset, cell.method, cell.seed), []
            for row in self.of(cell.dataset):
                if (row["dataset"], row["method"], row["seed"]) != place:
                    rows.append(row)
                elif cell_of(row) == cell:
                    measured = {one["probe"] for one in result["rows"]}
                    others = [one for one in row["rows"] if one["probe"] not in measured]
                    result = result | {"rows": [*others, *result["rows"]]}
            rows.append(asdict(cell) | result)
            rows.sort(key=lambda r: (r["method"], r["seed"]))
            write_json(self.folder / f"{cell.dataset}.json", {"cells": rows})


def run_cells(
    cells: Iterable[Cell],
    compute: Callable[[Cell], dict[str, Any]],
    results: Results,
    jobs: int,
    console: Console,
    probes: Collection[str] = (),
) -> None:
    """Compute the cells that are missing, or whose ``probes`` are, ``jobs`` at a time, and keep each as it comes."""
    todo = results.missing(cells, probes)
    if not todo:
        console.print("every cell is there already")
        return
    where = provenance()
    work = (joblib.delayed(_one)(compute, cell) for cell in todo)
    done = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")(work)
    started = time.monotonic()
    for count, (cell, result) in enumerate(done, 1):
        results.add(cell, result | {"provenance": where})
        spent = time.monotonic() - started
        left = spent / count * (len(todo) - count)
        scores = "  ".join(f"{r['protocol']} {100 * r['val']:.1f}" for r in result["rows"])
        console.print(
            f"{count}/{len(todo)}  {cell.dataset} {cell.method} {cell.seed}  val {scores}  {result['seconds']:.0f} s  "
            f"about {left / 60:.0f} min left",
            highlight=False,
            soft_wrap=True,
        )


def _one(compute: Callable[[Cell], dict[str, Any]], cell: Cell) -> tuple[Cell, dict[str, Any]]:
    torch.set_num_threads(1)  # one cell, one core: the same bits however many run side by side
    started = time.perf_counter()
    result = compute(cell)
    # The largest the process has been, over all its cells so far.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform != "darwin" else 2**30)
    return cell, {"seconds": round(time.perf_counter() - started, 2), "peak_gb": round(peak, 3), **result}


def cell_of(row: dict[str, Any]) -> Cell:
    """What a result is the result of."""
    return Cell(row["dataset"], row["method"], row["seed"], row["recipe"])
