"""The cells of an experiment and their results: each cell is computed once, and saved as soon as it is computed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from girl.files import write_json


@dataclass(frozen=True)
class Cell:
    """One computation of an experiment. Equal cells give equal results."""

    dataset: str
    method: str
    seed: int
    recipe: dict[str, Any] | None = None
    """None where nothing is trained."""

    @classmethod
    def of(cls, result: dict[str, Any]) -> Cell:
        """The cell that a result belongs to."""
        return cls(result["dataset"], result["method"], result["seed"], result["recipe"])

    @property
    def key(self) -> str:
        """A string that equal cells share."""
        return json.dumps(asdict(self), sort_keys=True)


class Results:
    """The results of an experiment in a folder: for each dataset a JSON file with a list, one entry for each cell.

    An entry has the fields of its :class:`Cell`, and ``rows``: the scores of each protocol and probe.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def of(self, dataset: str) -> list[dict[str, Any]]:
        """The results on one dataset."""
        path = self.folder / f"{dataset}.json"
        results: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"] if path.exists() else []
        return results

    def all(self) -> list[dict[str, Any]]:
        """All results."""
        return [result for path in sorted(self.folder.glob("*.json")) for result in self.of(path.stem)]

    def missing(self, cells: Iterable[Cell], probes: Collection[str] = ()) -> list[Cell]:
        """Those of ``cells`` that have no result, or whose result lacks one of ``probes``."""
        cells = list(cells)
        measured: dict[str, set[str]] = {}
        for dataset in {cell.dataset for cell in cells}:
            measured |= {Cell.of(r).key: {row["probe"] for row in r["rows"]} for r in self.of(dataset)}
        return [cell for cell in cells if cell.key not in measured or not set(probes) <= measured[cell.key]]

    def add(self, cell: Cell, result: dict[str, Any]) -> None:
        """Save the result of a cell.

        It replaces that of the same dataset, method and seed with another recipe. If the recipe is the same, rows of
        other probes stay. Several processes may write at a time.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder / f".{cell.dataset}.lock"):
            results = []
            for other in self.of(cell.dataset):
                if (other["method"], other["seed"]) != (cell.method, cell.seed):
                    results.append(other)
                elif Cell.of(other) == cell:
                    measured = {row["probe"] for row in result["rows"]}
                    rows = [row for row in other["rows"] if row["probe"] not in measured]
                    result = result | {"rows": [*rows, *result["rows"]]}
            results.append(asdict(cell) | result)
            results.sort(key=lambda r: (r["method"], r["seed"]))
            write_json(self.folder / f"{cell.dataset}.json", {"cells": results})
