"""What an epoch of each method costs in time and memory, GIRL's beside the others', in one run.

Writes results/bench/methods.json after each measurement. Every method trains with its published recipe, GIRL with its
shipped one. Rounds are interleaved: in each, every method trains for some epochs in a process of its own, after one
for warming up; medians over rounds are reported.

    python benchmarks/methods.py                        PubMed and Physics, about half an hour on two cores
    python benchmarks/methods.py --datasets pubmed --methods girl dgi
    python benchmarks/methods.py --quick                scikit-learn's digits, to see that it runs
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from girl import datasets
from girl.files import write_json
from girl.lab.nodes import Nodes
from girl.lab.peak_memory import in_fresh_process, peak_bytes, reset_peak, resident_bytes
from girl.lab.provenance import provenance
from girl.training.batch import make_batch
from girl.training.loop import fit
from girl.training.recipe import method_recipe
from girl.training.untrained import resolve_recipe, untrained_method

warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")

#: Contrastive methods: GIRL should be faster and need less memory than these.
CONTRASTIVE = ("dgi", "grace", "bgcl", "ggd")


def measure(dataset: str, method: str, epochs: int) -> dict[str, Any]:
    """Seconds per epoch, and bytes beyond the data at the peak, of one training."""
    recipe = method_recipe(method, None if dataset == "digits" else dataset)
    found = datasets.load(dataset)
    batch = make_batch(found.data, recipe.encoder)
    recipe = resolve_recipe(recipe, batch)
    torch.manual_seed(0)
    loaded = resident_bytes()
    exact = reset_peak()
    model = untrained_method(batch.x.shape[1], recipe)
    fit(model, batch, replace(recipe.train, epochs=1, time_limit=0.0))
    started, cpu = time.perf_counter(), time.process_time()
    history = fit(model, batch, replace(recipe.train, epochs=epochs, time_limit=0.0))
    busy = (time.process_time() - cpu) / (time.perf_counter() - started)
    return {
        "dataset": dataset,
        "stand_in": found.stand_in,
        "method": method,
        "conv": recipe.encoder.conv,
        "layers": recipe.encoder.layers,
        "hidden": recipe.encoder.hidden,
        "epochs": epochs,
        "seconds_per_epoch": history.seconds / epochs,
        "beyond_data_bytes": max(peak_bytes() - loaded, 1),
        "exact": exact,
        # In cores. If it is far below the number of threads, other programs were running.
        "busy": busy,
    }


def merged(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The medians over rounds, and the times of all rounds."""
    seconds = [one["seconds_per_epoch"] for one in rounds]
    return rounds[0] | {
        "seconds_per_epoch": statistics.median(seconds),
        "rounds": seconds,
        "beyond_data_bytes": statistics.median(one["beyond_data_bytes"] for one in rounds),
        "busy": statistics.median(one["busy"] for one in rounds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one epoch on a small graph, to see that it runs")
    parser.add_argument("--out", type=Path, default=Path("results/bench/methods.json"))
    parser.add_argument("--datasets", nargs="+", help="by default pubmed and physics; with --quick, digits")
    parser.add_argument("--methods", nargs="+", help="by default all that learn from nodes")
    arguments = parser.parse_args()
    quick: bool = arguments.quick
    run = partial(in_fresh_process, fresh=not quick)
    names: list[str] = arguments.methods or ["girl", *Nodes().peers]
    for name in names:
        method_recipe(name, None)  # an unknown name is an error before the first round
    result: dict[str, Any] = {"benchmark": "methods", "quick": quick, "threads": torch.get_num_threads()}
    result |= {"contrastive": list(CONTRASTIVE), "provenance": provenance(), "rows": []}
    for dataset in arguments.datasets or (["digits"] if quick else ["pubmed", "physics"]):
        rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        finished = list(result["rows"])
        for _ in range(1 if quick else 3):
            for name in names:
                rounds[name].append(run(measure, dataset, name, 1 if quick else 5))
                result["rows"] = finished + [merged(done) for done in rounds.values() if done]
                write_json(arguments.out, result)
                last = rounds[name][-1]
                print(
                    f"{dataset}, {name}: {last['seconds_per_epoch']:.3f} s per epoch, "
                    f"{last['beyond_data_bytes'] / 1e6:,.0f} MB",
                    flush=True,
                )
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
