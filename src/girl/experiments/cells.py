"""Experiments as cells: each is computed once, kept as soon as it is there, and never computed again."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import joblib
import torch
from rich.console import Console

from girl.experiments.record import provenance
from girl.files import write_json


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

    def missing(self, cells: Iterable[Cell]) -> list[Cell]:
        """Those of ``cells`` that have no result."""
        cells = list(cells)
        known = {_key(row) for name in {cell.dataset for cell in cells} for row in self.of(name)}
        return [cell for cell in cells if cell.key not in known]

    def add(self, cell: Cell, result: dict[str, Any]) -> None:
        """Keep a result. One of the same dataset, method and seed with another recipe is replaced."""
        place = (cell.dataset, cell.method, cell.seed)
        others = [r for r in self.of(cell.dataset) if (r["dataset"], r["method"], r["seed"]) != place]
        rows = sorted([*others, asdict(cell) | result], key=lambda r: (r["method"], r["seed"]))
        write_json(self.folder / f"{cell.dataset}.json", {"cells": rows})


def run_cells(
    cells: Iterable[Cell], compute: Callable[[Cell], dict[str, Any]], results: Results, jobs: int, console: Console
) -> None:
    """Compute the cells that are missing, ``jobs`` at a time, and keep each as it comes."""
    todo = results.missing(cells)
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
        scores = "  ".join(f"{r['protocol']} {100 * r['val']:.1f}" for r in result["rows"] if r["probe"] == "linear")
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


def _key(row: dict[str, Any]) -> str:
    return Cell(row["dataset"], row["method"], row["seed"], row["recipe"]).key
