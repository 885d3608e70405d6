"""Every method on a dataset of its own paper, under that paper's protocol: is it the method that was published?

No limit of time here, in which it differs from the comparison: the published recipe runs to its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from girl.errors import InputError
from girl.lab import graphs, nodes
from girl.lab.cells import Cell
from girl.lab.published import table
from girl.training.recipe import method_recipe


@dataclass(frozen=True)
class Published:
    """A number to come close to."""

    method: str
    dataset: str
    protocol: str
    accuracy: float
    """In percent."""
    std: float | None
    source: str


def published() -> list[Published]:
    """What the methods' papers report, in the order of the methods."""
    return [
        Published(
            row["method"],
            row["dataset"],
            row["protocol"],
            float(row["accuracy"]),
            float(row["std"]) if row["std"] else None,
            row["source"],
        )
        for row in table("methods")
    ]


def cells(methods: Sequence[str], seeds: int, datasets: Sequence[str] = ()) -> list[Cell]:
    """All cells, seed by seed; of all methods, or datasets, if none are named."""
    known = published()
    _among("method", methods, [one.method for one in known])
    _among("dataset", datasets, [one.dataset for one in known])
    wanted = [
        one for one in known if (not methods or one.method in methods) and (not datasets or one.dataset in datasets)
    ]
    if not wanted:
        pairs = ", ".join(f"{one.method} on {one.dataset}" for one in known if one.method in methods)
        given = f"{', '.join(methods)} on {', '.join(datasets)}"
        raise InputError(f"nothing to check: given {given}, published are {pairs}")
    return [
        Cell(one.dataset, one.method, seed, method_recipe(one.method, one.dataset).with_seed(seed).to_dict())
        for seed in range(seeds)
        for one in wanted
    ]


def _among(what: str, given: Sequence[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise InputError(f"{what}: given {name!r}, expected one of {', '.join(dict.fromkeys(known))}")


@dataclass(frozen=True)
class Compute:
    """Computes a cell, as the tables on nodes and on sets of graphs do."""

    root: Path | None = None
    mirror: Path | None = None

    def __call__(self, cell: Cell) -> dict[str, Any]:
        if cell.dataset in graphs.DATASETS:
            return graphs.Compute(self.root, self.mirror)(cell)
        asked = [one.protocol for one in published() if (one.dataset, one.method) == (cell.dataset, cell.method)]
        return nodes.Compute(self.root, self.mirror, protocols=asked)(cell)
