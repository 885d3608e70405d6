"""The default beside smoothing with principal components of the same width: wall time, arrays in, vectors out, one run.

Writes results/bench/default.json. Each is timed with the graph and its features in memory; the matrices that a graph
caches are computed anew each time. Stages of the default are the directions of the features, the judge, and the final
components.

    python benchmarks/default.py            PubMed, Computers, Physics and a stand-in of 169,343 nodes
    python benchmarks/default.py --quick    the digits alone, to see that it runs
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from girl import datasets
from girl.evaluation.controls import control
from girl.files import write_json
from girl.graph.batch import Batch
from girl.lab.provenance import provenance
from girl.lab.stand_in import make_stand_in
from girl.methods.bands import BandMethod
from girl.training.batch import make_batch
from girl.training.recipe import Recipe
from girl.training.untrained import untrained_method

#: Weightless controls, each with principal components of the same width.
CONTROLS = ("sgc", "ppr")
STAND_IN = "ogbn-arxiv"


def seconds(task: Callable[[Batch], object], fresh: Callable[[], Batch], repeats: int) -> float:
    """The shortest of several times, each on a batch without cached matrices."""
    times = []
    for _ in range(repeats):
        batch = fresh()
        start = time.perf_counter()
        task(batch)
        times.append(time.perf_counter() - start)
    return min(times)


def embed(batch: Batch, recipe: Recipe) -> BandMethod:
    """What ``girl embed`` does between reading and writing."""
    method = untrained_method(batch.x.shape[1], recipe)
    assert isinstance(method, BandMethod)
    method.prepare(batch, torch.Generator().manual_seed(0))
    method.finish(batch)
    return method


def measure(name: str, stand_in: bool, root: Path | None, repeats: int) -> dict[str, Any]:
    """Seconds of the controls, of the default, and of the default with the scales that it chose."""
    data = datasets.load(name, root).data if stand_in else datasets.load(name).data
    recipe = Recipe()
    dim = recipe.method.dim  # type: ignore[attr-defined]

    def fresh() -> Batch:
        return make_batch(data, recipe.encoder)

    row: dict[str, Any] = {"dataset": name, "stand_in": stand_in, "nodes": data.num_nodes, "columns": data.x.shape[1]}
    for name_of_control in CONTROLS:
        row[name_of_control] = seconds(lambda batch: control(name_of_control, batch, dim), fresh, repeats)  # noqa: B023
    row["default"] = seconds(lambda batch: embed(batch, recipe), fresh, repeats)
    choice = embed(fresh(), recipe).choice
    assert choice is not None
    chosen = recipe.with_values({"bands": tuple(choice.scales), "scales": tuple(choice.scales.values())})
    row["chosen"] = seconds(lambda batch: embed(batch, chosen), fresh, repeats)
    return row


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/bench/default.json"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    repeats = 1 if arguments.quick else arguments.repeats
    result: dict[str, Any] = {"threads": torch.get_num_threads(), "repeats": repeats, "rows": []}
    with tempfile.TemporaryDirectory() as folder:
        names = ["digits"] if arguments.quick else ["pubmed", "computers", "physics", STAND_IN]
        for name in names:
            stand_in = name == STAND_IN
            if stand_in:
                make_stand_in(name, folder)
            result["rows"].append(measure(name, stand_in, Path(folder) if stand_in else None, repeats))
            print(result["rows"][-1], flush=True)
    write_json(arguments.out, result | {"provenance": provenance()})


if __name__ == "__main__":
    main()
