"""The cost of a step of GIRL beside the encoder alone and the published loss, and the effect of rows and rank.

Writes results/bench/girl.json, after each measurement. Steps of both kinds alternate on the same graph; peaks of memory
are measured in fresh processes. Accuracies of an earlier run with the same program and recipes are reused, so an
interrupted run can be started again. (This file is not called girl.py: Python would import it instead of the package.)

    python benchmarks/girl_step.py                        PubMed and Physics, about half an hour on two cores
    python benchmarks/girl_step.py --only accuracy        rows and rank only; the rest stays
    python benchmarks/girl_step.py --only steps           all but those
    python benchmarks/girl_step.py --datasets pubmed
    python benchmarks/girl_step.py --quick                scikit-learn's digits, to see that it runs
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from girl import KRLoss, datasets, splits
from girl.datasets.dataset import NodeDataset
from girl.evaluation.scores import score_splits
from girl.files import write_json
from girl.graph.batch import Batch
from girl.graph.partition import nodes_by_part, partition
from girl.lab.peak_memory import in_fresh_process, peak_bytes, reset_peak, resident_bytes
from girl.lab.provenance import provenance
from girl.methods.girl import GIRLMethod, GIRLSettings
from girl.training.batch import make_batch
from girl.training.context import Context
from girl.training.recipe import Recipe, tuned_recipe
from girl.training.run import pretrain
from girl.training.state import TrainingState
from girl.training.untrained import untrained_method

warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")

Kind = Literal["girl", "encoder"]

#: The targets.
TARGETS = {"step_ratio": 2.0, "memory_ratio": 1.5, "training_bytes": 4e9}

#: Protocols on whose validation nodes rows and rank are compared.
PROTOCOLS = {"pubmed": ("public", "full"), "digits": ("random-10-10-80",)}


def load(name: str) -> NodeDataset:
    if name == "digits":
        data = datasets.load("digits").data
        return NodeDataset(name, data, classes=10)
    return datasets.load(name)


def encoder_recipe(name: str) -> Recipe:
    """The recipe tuned for a dataset; the recipe encoder if there is none."""
    recipe = tuned_recipe(name)
    return recipe if isinstance(recipe.method, GIRLSettings) else Recipe.encoder_default()


def settings_of(recipe: Recipe) -> GIRLSettings:
    assert isinstance(recipe.method, GIRLSettings)
    return recipe.method


class Bench:
    """A dataset with the method of its shipped recipe before the first step, and the two kinds of step.

    Steps are taken on the whole graph, or on ``parts``: one batch of the recipe's METIS parts.
    """

    def __init__(self, name: str, parts: bool = False) -> None:
        self.recipe = encoder_recipe(name)
        self.dataset = load(name)
        self.graph_batch: Batch = make_batch(self.dataset.data, self.recipe.encoder)
        self.loaded_bytes = resident_bytes()
        method = untrained_method(self.graph_batch.x.shape[1], self.recipe)
        assert isinstance(method, GIRLMethod)
        self.method = method
        self.method.train()
        self.trainer = TrainingState(self.method, self.recipe.train, Context())
        self.batch, train = self.graph_batch, self.recipe.train
        if parts:
            first = nodes_by_part(partition(self.graph_batch.graph, train.clusters, train.seed))[: train.batch_size]
            self.batch = self.graph_batch.subgraph(torch.cat(first).sort().values)

    def prepare(self) -> None:
        """Compute the targets, once in a run."""
        self.method.prepare(self.graph_batch, torch.Generator().manual_seed(0))

    def girl(self) -> None:
        """A training step: dropout, encoder, loss, backward, AdamW."""
        self.trainer.step(self.batch)

    def encoder(self) -> None:
        """The encoder alone, forward and backward; the loss is the sum of squares of the last layer of all nodes."""
        self.method.encoder(self.batch.x, self.batch.graph)[-1].square().sum().backward()
        self.method.zero_grad(set_to_none=True)

    def step(self, kind: Kind) -> None:
        self.girl() if kind == "girl" else self.encoder()


def measure_steps(name: str, repeats: int, parts: bool) -> dict[str, Any]:
    """Medians of both steps over interleaved repetitions, by the clock and by the processor's time."""
    bench = Bench(name, parts)
    started = time.perf_counter()
    bench.prepare()
    prepared = time.perf_counter() - started
    kinds: tuple[Kind, Kind] = ("girl", "encoder")
    walls: dict[str, list[float]] = {kind: [] for kind in kinds}
    cpus: dict[str, list[float]] = {kind: [] for kind in kinds}
    for repetition in range(repeats + 1):
        for kind in kinds:
            wall, cpu = time.perf_counter(), time.process_time()
            bench.step(kind)
            if repetition:  # the first warms up
                walls[kind].append(time.perf_counter() - wall)
                cpus[kind].append(time.process_time() - cpu)
    wall_of = {kind: statistics.median(times) for kind, times in walls.items()}
    cpu_of = {kind: statistics.median(times) for kind, times in cpus.items()}
    s = bench.recipe
    return {
        "dataset": name,
        "stand_in": bench.dataset.stand_in,
        "batch": f"{s.train.batch_size} of {s.train.clusters} parts" if parts else "whole graph",
        "nodes": bench.batch.num_nodes,
        "inputs": bench.batch.x.shape[1],
        "edges": int(bench.batch.graph.adjacency.values().numel()),
        "conv": s.encoder.conv,
        "hops": s.encoder.hops,
        "layers": s.encoder.layers,
        "hidden": s.encoder.hidden,
        "rows": settings_of(s).rows,
        "rank": settings_of(s).rank,
        "repeats": repeats,
        "prepare_seconds": prepared,
        "girl_seconds": wall_of["girl"],
        "encoder_seconds": wall_of["encoder"],
        "ratio": wall_of["girl"] / wall_of["encoder"],
        "cpu_ratio": cpu_of["girl"] / cpu_of["encoder"],
        # Far below 1, other programs had the core at times: the figures by the clock then say little.
        "busy": sum(map(sum, cpus.values())) / sum(map(sum, walls.values())),
    }


def measure_peak(name: str, kind: Kind, steps: int, parts: bool) -> dict[str, float]:
    """Peak memory of a few steps beyond the data, without the preparation of targets."""
    bench = Bench(name, parts)
    if kind == "girl":
        bench.prepare()
    exact = reset_peak()
    for _ in range(steps):
        bench.step(kind)
    most = peak_bytes()
    # At least 1: with --quick the process is not fresh, and memory may be reused.
    return {"peak_bytes": most, "beyond_data_bytes": max(most - bench.loaded_bytes, 1), "exact": exact}


def measure_training(name: str, epochs: int) -> dict[str, float]:
    """A training from loading to the end."""
    started = time.perf_counter()
    recipe = encoder_recipe(name).with_values({"train": {"epochs": epochs}})
    batch = make_batch(load(name).data, recipe.encoder)
    loaded = time.perf_counter() - started
    run = pretrain(batch, recipe)
    return {
        "epochs": epochs,
        "seconds": time.perf_counter() - started,
        "load_seconds": loaded,
        "steps_seconds": run.history.seconds,
        "peak_bytes": peak_bytes(),
    }


def measure_losses(name: str, sizes: tuple[int, ...], repeats: int) -> list[dict[str, float]]:
    """Forward and backward of the published loss and of the shipped one, on the same activations and targets."""
    bench = Bench(name)
    bench.prepare()
    measured = []
    for rows in sizes:
        nodes = torch.randperm(bench.graph_batch.num_nodes, generator=torch.Generator().manual_seed(0))[:rows]
        with torch.no_grad():
            hidden = bench.method.encoder(bench.graph_batch.x, bench.graph_batch.graph, nodes)[-1]
        settings = settings_of(bench.recipe)
        outputs = [hidden.clone()] * bench.recipe.encoder.layers
        generator = torch.Generator().manual_seed(0)
        targets = [
            bench.method._target(target, len(outputs) - 1, outputs, nodes, bench.graph_batch, generator)
            for target in settings.targets
        ]
        shipped, shipped_value = _loss_seconds(bench.method.kr, hidden, targets, 5)
        published, published_value = _loss_seconds(KRLoss.paper(), hidden, targets, repeats)
        measured.append(
            {
                "rows": len(nodes),
                "shipped_seconds": shipped,
                "published_seconds": published,
                "times": published / shipped,
                "shipped_loss": shipped_value / len(targets),
                "published_loss": published_value / len(targets),
            }
        )
    return measured


def _loss_seconds(loss: KRLoss, hidden: Tensor, targets: list[Tensor], repeats: int) -> tuple[float, float]:
    times, value = [], 0.0
    generator = torch.Generator().manual_seed(0)
    for _ in range(repeats):
        x = hidden.clone().requires_grad_()
        started = time.perf_counter()
        rho = loss(x, *targets, generator=generator)
        rho.backward()
        times.append(time.perf_counter() - started)
        value = rho.item()
    return statistics.median(times), value


def measure_accuracy(name: str, rows: int, rank: int, seeds: int, epochs: int) -> dict[str, Any]:
    """Validation accuracy of the linear probe and processor time of training at one choice of rows and rank."""
    changes = {"method": {"rows": rows, "rank": rank}, "train": {"epochs": epochs}}
    recipe = encoder_recipe(name).with_values(changes)
    dataset = load(name)
    batch = make_batch(dataset.data, recipe.encoder)
    val: dict[str, list[float]] = {protocol: [] for protocol in _protocols(name)}
    seconds = []
    for seed in range(seeds):
        cpu = time.process_time()
        run = pretrain(batch, recipe.with_seed(seed))
        seconds.append(time.process_time() - cpu)
        assert run.vectors is not None
        for protocol, scores in val.items():
            scores.append(score_splits("girl", run.vectors, dataset, splits.get(protocol), [seed]).val.mean)
    means = {protocol: statistics.mean(scores) for protocol, scores in val.items()}
    return {
        "rows": rows,
        "rank": rank,
        "epochs": recipe.train.epochs,
        "seeds": seeds,
        "val": val,
        "val_mean": means,
        "cpu_seconds": statistics.median(seconds),
        "provenance": provenance(),
    }


def _protocols(name: str) -> tuple[str, ...]:
    return PROTOCOLS.get(name, ("random-10-10-80", "random-60-20-20"))


def choices(recipe: Recipe, quick: bool) -> list[tuple[int, int]]:
    """Rows at the shipped rank, and ranks at the shipped rows; 0 rows are all."""
    rows, rank = settings_of(recipe).rows, settings_of(recipe).rank
    many = (256, 0) if quick else (512, 1024, 2048, 4096, 0)
    ranks = (64,) if quick else (64, 128, 256, 512)
    return list(dict.fromkeys([*((r, rank) for r in many), (rows, rank), *((rows, r) for r in ranks)]))


def _earlier(path: Path, current: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Accuracies in the file of an earlier run, if it was the same program with the same recipes."""
    try:
        earlier: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if earlier.get("quick") != current["quick"]:
        return {}
    recipes, accuracy = earlier.get("recipes", {}), earlier.get("accuracy", {})
    return {
        name: [row for row in rows if row.get("provenance") == current["provenance"]]
        for name, rows in accuracy.items()
        if recipes.get(name) == _recipe(name)
    }


def _recipe(name: str) -> dict[str, Any]:
    return encoder_recipe(name).to_dict()


def _swept(names: list[str]) -> list[str]:
    """Where rows and rank are swept: on the first dataset, which is the smaller."""
    return names[:1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few repetitions and small sizes, to see that it runs")
    parser.add_argument("--out", type=Path, default=Path("results/bench/girl.json"))
    parser.add_argument("--datasets", nargs="+", help="by default pubmed and physics; with --quick, digits")
    parser.add_argument("--only", choices=["steps", "accuracy"], help="what to measure anew in a file that is there")
    arguments = parser.parse_args()
    quick: bool = arguments.quick
    # A fresh process takes seconds to start; --quick does without.
    run = partial(in_fresh_process, fresh=not quick)
    names: list[str] = arguments.datasets or (["digits"] if quick else ["pubmed", "physics"])
    result: dict[str, Any] = {"benchmark": "girl", "quick": quick, "threads": torch.get_num_threads()}
    result |= {"targets": TARGETS, "provenance": provenance(), "recipes": {name: _recipe(name) for name in names}}
    earlier = _earlier(arguments.out, result)
    result |= {"steps": [], "training": {}, "losses": {}, "accuracy": {}}
    if arguments.only:
        reused = (
            ("threads", "provenance", "steps", "training", "losses") if arguments.only == "accuracy" else ("accuracy",)
        )
        measured = json.loads(arguments.out.read_text(encoding="utf-8"))
        result |= {key: measured[key] for key in reused}
    for name in names if arguments.only != "accuracy" else []:
        for parts in (False, True) if encoder_recipe(name).train.clusters > 1 else (False,):
            row = run(measure_steps, name, 2 if quick else 15, parts)
            ours = run(measure_peak, name, "girl", 2 if quick else 4, parts)
            bare = run(measure_peak, name, "encoder", 2 if quick else 4, parts)
            row |= {
                "girl_bytes": ours["beyond_data_bytes"],
                "encoder_bytes": bare["beyond_data_bytes"],
                "memory_ratio": ours["beyond_data_bytes"] / max(bare["beyond_data_bytes"], 1),
                "process_ratio": ours["peak_bytes"] / bare["peak_bytes"],
            }
            result["steps"].append(row)
            print(
                f"{name}, {row['batch']}: GIRL {row['girl_seconds']:.3f} s, encoder {row['encoder_seconds']:.3f} s, "
                f"{row['ratio']:.2f} x (by processor time {row['cpu_ratio']:.2f}); memory {row['memory_ratio']:.2f} x",
                flush=True,
            )
        result["training"][name] = trained = run(measure_training, name, 2 if quick else 10)
        print(
            f"{name}: {trained['epochs']} epochs in {trained['seconds']:.0f} s, {trained['peak_bytes'] / 1e9:.2f} GB",
            flush=True,
        )
        result["losses"][name] = run(measure_losses, name, (256, 512) if quick else (2048, 4096), 1)
        for loss in result["losses"][name]:
            print(
                f"{name}, {loss['rows']:,} rows: published loss {loss['published_seconds']:.2f} s, shipped "
                f"{loss['shipped_seconds']:.3f} s, {loss['times']:.0f} x",
                flush=True,
            )
        write_json(arguments.out, result)
    for name in _swept(names) if arguments.only != "steps" else []:
        recipe = encoder_recipe(name)
        done = {(row["rows"], row["rank"], row["epochs"]): row for row in earlier.get(name, [])}
        epochs = 2 if quick else recipe.train.epochs
        combinations = [(settings_of(recipe).rows, settings_of(recipe).rank, 0)]
        combinations += [(rows, rank, epochs) for rows, rank in choices(recipe, quick)]
        result["accuracy"][name] = []
        for rows, rank, length in combinations:
            seeds = 1 if quick else 3
            accuracy = done.get((rows, rank, length)) or measure_accuracy(name, rows, rank, seeds, length)
            result["accuracy"][name].append(accuracy)
            write_json(arguments.out, result)
            print(f"{name}, rows {rows or 'all'}, rank {rank}, {length} epochs: {accuracy['val_mean']}", flush=True)
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
