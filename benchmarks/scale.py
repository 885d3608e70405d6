"""Graphs as large as the paper's largest, from raw files to the linear probe, on this machine; and two processes.

Writes results/bench/scale.json after each stage. Where the data is not available, stand-ins (random graphs of the real
shapes, in the raw formats) are written to a separate folder. Every stage is a fresh process that starts from files, so
that its peak memory is its own: reading raw files, building and partitioning the graph, starting again from the cache,
an epoch of GIRL, an epoch of a regularised classifier, all embeddings layer by layer, and the linear probe.

    python benchmarks/scale.py                          arxiv, Reddit, products: an hour on two cores, 25 GB of disk
    python benchmarks/scale.py --datasets ogbn-arxiv    one of them anew; results of the others stay
    python benchmarks/scale.py --quick                  a five-hundredth of the sizes, to see that it runs
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from girl import datasets, splits
from girl.datasets.cache import availability
from girl.datasets.dataset import NodeDataset
from girl.datasets.registry import find
from girl.evaluation.probe import probe
from girl.files import write_json
from girl.graph.batch import Batch
from girl.graph.partition import cached_partition
from girl.lab.peak_memory import in_fresh_process, peak_bytes
from girl.lab.provenance import provenance
from girl.lab.stand_in import make_stand_in
from girl.methods.girl import GIRLSettings
from girl.training.cached_batch import cached_batch, cached_part
from girl.training.context import Context
from girl.training.recipe import Recipe
from girl.training.run import load_run, pretrain
from girl.training.run_folder import save_embedding
from girl.training.supervised import SupervisedRecipe
from girl.training.supervised_run import train_on_split

warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")

#: The graphs, and the METIS parts of the paper's classifiers, ten of which are a batch.
NAMES = ("ogbn-arxiv", "reddit", "ogbn-products")
PARTS, PER_BATCH = 1500, 10

#: Width of GIRL's encoder, and of the classifier, which has three layers of SAGE as the paper's shallowest.
HIDDEN, WIDE, DEPTH = 128, 256, 3

#: Nodes of a METIS part, nodes up to which a graph counts as small, and from which on targets have fewer columns.
PART_NODES, MAX_FULL_BATCH, LARGE = 20_000, 100_000, 200_000

#: Rows of an adjacency matrix that are read at a time.
ROWS = 1 << 16

#: Caches beside the raw files. They are deleted first, so that the first stages do not use those of an earlier run.
CACHES = ("graphs", "batches", "clusters", "shared")

#: Files that one stage writes for the next, in a folder for each graph.
RUN, VECTORS = "run", "vectors.npy"


def girl_recipe(nodes: int) -> Recipe:
    """The recipe `encoder` in METIS parts of about 20,000 nodes, for one epoch; a small graph has four parts."""
    clusters = round(nodes / PART_NODES) if nodes > MAX_FULL_BATCH else 4
    values: dict[str, Any] = {
        "hidden": HIDDEN,
        "epochs": 1,
        "normalize": "zscore",
        "clusters": clusters,
        "save_every": 1,
    }
    return Recipe.encoder_default().with_values(values | ({"target_rank": 64} if nodes > LARGE else {}))


def classifier_recipe(nodes: int) -> SupervisedRecipe:
    """The paper's shallowest classifier with KR, for one epoch."""
    parts = min(PARTS, max(nodes // 100, 2))
    batches = {"clusters": parts, "batch_size": min(PER_BATCH, parts // 2), "epochs": 1}
    return SupervisedRecipe().with_values(
        {"depth": DEPTH, "hidden": WIDE, "normalize": "zscore", "regularizer": {"regularizer": "kr"}, "train": batches}
    )


def load_batches(name: str) -> tuple[NodeDataset, Batch, Batch]:
    """The dataset, its graph, and the part of it that training uses."""
    dataset = datasets.load(name)
    batch = cached_batch(dataset.data, girl_recipe(dataset.data.num_nodes).encoder)
    part = batch
    if dataset.inductive:
        part = cached_part(batch, splits.get(dataset.protocols[0]).split(dataset, 0).train)
    return dataset, batch, part


def first_load(name: str, folder: Path) -> dict[str, Any]:
    """Read raw files, and cache the graph."""
    dataset = datasets.load(name)
    n, d = dataset.data.x.shape
    return {"nodes": n, "edges": dataset.data.edge_index.shape[1], "features": d, "stand_in": dataset.stand_in}


def first_cut(name: str, folder: Path) -> dict[str, Any]:
    """Build the adjacency matrices, and partition the graph."""
    _, _, part = load_batches(name)
    began = time.perf_counter()
    cached_partition(part.graph, girl_recipe(part.num_nodes).train.clusters)
    return {"cutting_seconds": time.perf_counter() - began}


def second_start(name: str, folder: Path) -> dict[str, Any]:
    """The same from the cache."""
    first_cut(name, folder)
    return {}


def epoch(name: str, folder: Path) -> dict[str, Any]:
    """An epoch of GIRL; ``epoch_seconds`` is the time of its steps, without the preparation of targets."""
    _, _, part = load_batches(name)
    recipe = girl_recipe(part.num_nodes)
    run = pretrain(part, recipe, Context(folder=folder / RUN, resume="never"))
    loss = recipe.method
    assert isinstance(loss, GIRLSettings)
    columns = len(loss.targets) * min(loss.target_rank, part.x.shape[1])
    settings = {"hidden": HIDDEN, "hops": recipe.encoder.hops, "rows": loss.rows, "rank": loss.rank, "columns": columns}
    edges = part.graph.adjacency.values().numel()
    return {"epoch_seconds": run.history.seconds, "epoch_nodes": part.num_nodes, "epoch_edges": edges, **settings}


def batches(name: str) -> dict[str, Any]:
    """The number of steps of an epoch of GIRL, and of the edges within METIS parts, which they use."""
    _, _, part = load_batches(name)
    part_of_node = cached_partition(part.graph, girl_recipe(part.num_nodes).train.clusters)
    crow, col = part.graph.adjacency.crow_indices(), part.graph.adjacency.col_indices()
    within = 0
    for start in range(0, part.num_nodes, ROWS):
        ends = crow[start : start + ROWS + 1]
        rows = torch.repeat_interleave(part_of_node[start : start + ROWS], ends.diff())
        within += int((rows == part_of_node[col[int(ends[0]) : int(ends[-1])].long()]).sum())
    return {"steps": int(part_of_node.max()) + 1, "batch_edges": within}


def supervised(name: str, folder: Path) -> dict[str, Any]:
    """An epoch of a classifier with KR on its layers, and its validation score."""
    dataset = datasets.load(name)
    run = train_on_split(dataset, splits.get(dataset.protocols[0]), 0, classifier_recipe(dataset.data.num_nodes))
    return {"epoch_seconds": run.history.seconds, "val": run.scores["val"]}


def embedding(name: str, folder: Path) -> dict[str, Any]:
    """The embeddings of all nodes by the trained encoder, layer by layer."""
    run = load_run(folder / RUN)
    _, batch, _ = load_batches(name)
    began = time.perf_counter()
    vectors = run.embed(batch)
    spent = time.perf_counter() - began
    save_embedding(folder / VECTORS, vectors)
    return {"embed_seconds": spent, "columns": vectors.shape[1]}


def probing(name: str, folder: Path) -> dict[str, Any]:
    """The linear probe on the dataset's split."""
    dataset = datasets.load(name)
    split = splits.get(dataset.protocols[0]).split(dataset, 0)
    vectors = torch.from_numpy(np.load(folder / VECTORS, mmap_mode="c"))
    score = probe(vectors, dataset.data.y, split, multilabel=dataset.multilabel)
    return {"probe_seconds": score.seconds, "val": score.val}


#: The stages, in order, by their names in the report.
STAGES: dict[str, Callable[[str, Path], dict[str, Any]]] = {
    "raw files to a graph": first_load,
    "operators and METIS parts": first_cut,
    "second start": second_start,
    "GIRL, one epoch": epoch,
    "classifier with KR, one epoch": supervised,
    "representations": embedding,
    "linear probe": probing,
}


def mapped_files(folder: Path, row: dict[str, Any]) -> list[Path]:
    """The files that training maps: those of the graph, or of its training nodes."""
    nodes = row["stages"]["GIRL, one epoch"]["epoch_nodes"]
    return [path for path in (folder / "data" / "batches").glob(f"{nodes}-*") if path.is_file()]


def measured(stage: str, name: str, folder: Path) -> dict[str, Any]:
    """The measurements of a stage, with its seconds and the peak memory of its process."""
    began, cpu = time.perf_counter(), time.process_time()
    measurements = STAGES[stage](name, folder)
    spent = time.perf_counter() - began
    busy = (time.process_time() - cpu) / spent
    return {"seconds": spent, "peak_bytes": peak_bytes(), "busy": busy, **measurements}


def efficiency(name: str, folder: Path, epochs: int) -> dict[str, Any]:
    """Seconds of training on the same batches: one and two processes with one thread each, and one with two threads."""
    batches = ["--clusters", "64", "--batch-size", "8", "--hidden", str(HIDDEN), "--target-rank", "64"]
    command = ["-m", "girl", "pretrain", name, "--epochs", str(epochs), "--resume", "never", *batches]
    together = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    result: dict[str, Any] = {"dataset": name, "epochs": epochs, "batches": " ".join(batches)}
    for way, before, threads in (("one", [], 1), ("two", together, 1), ("threads", [], 2)):
        out = folder / way
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        done = [sys.executable, *before, *command, "--out", str(out)]
        subprocess.run(done, check=True, env=environment, stdout=subprocess.DEVNULL)
        result[f"{way}_seconds"] = json.loads((out / "history.json").read_text(encoding="utf-8"))["seconds"]
        shutil.rmtree(out)
    return result


def earlier(path: Path, now: dict[str, Any]) -> dict[str, Any]:
    """The results of an earlier run with the same sizes and threads; no rows, if there is none."""
    before: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return before if all(before.get(key) == value for key, value in now.items()) else {"rows": []}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="graphs at a small scale, to see that it runs")
    parser.add_argument("--out", type=Path, default=Path("results/bench/scale.json"))
    parser.add_argument("--datasets", nargs="+", default=list(NAMES), choices=NAMES)
    parser.add_argument(
        "--stages",
        nargs="+",
        choices=list(STAGES),
        help="only these stages, in a --folder of an earlier run with --keep",
    )
    parser.add_argument("--folder", type=Path, help="folder for stand-ins and caches; by default a new one")
    parser.add_argument("--keep", action="store_true", help="do not delete the folder at the end")
    arguments = parser.parse_args()
    quick: bool = arguments.quick
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="girl-scale-"))
    os.environ["GIRL_DATA"] = str(folder / "data")
    result: dict[str, Any] = {"benchmark": "scale", "quick": quick, "threads": torch.get_num_threads()}
    origin = provenance()
    result = earlier(arguments.out, result) | result | {"provenance": origin}
    earlier_rows = {row["dataset"]: row for row in result["rows"]}
    if arguments.stages and not (arguments.folder and set(arguments.datasets) <= earlier_rows.keys()):
        parser.error(f"--stages: expected a --folder that --keep kept, and every other stage in {arguments.out}")
    if not arguments.stages:
        result["rows"] = [row for name, row in earlier_rows.items() if name not in arguments.datasets]
        for cache_name in CACHES:
            shutil.rmtree(folder / "data" / cache_name, ignore_errors=True)
    try:
        for name in arguments.datasets:
            if availability(find(name), folder / "data", None) == "download":
                print(f"{name}: writing the stand-in", flush=True)
                make_stand_in(name, scale=0.002 if quick else 1.0)
            row = earlier_rows[name] if arguments.stages else {"dataset": name, "stages": {}}
            result["unfinished"] = row
            for stage in arguments.stages or STAGES:
                row["stages"][stage] = measurements = in_fresh_process(
                    measured, stage, name, folder / name, fresh=not quick
                )
                measurements["commit"] = origin["commit"]
                if stage == "GIRL, one epoch":
                    measurements |= in_fresh_process(batches, name, fresh=not quick)
                write_json(arguments.out, result)
                cost = f"{measurements['seconds']:.1f} s, peak {measurements['peak_bytes'] / 1e9:.2f} GB"
                print(f"{name}, {stage}: {cost}", flush=True)
            row["kept_bytes"] = sum(path.stat().st_size for path in mapped_files(folder, row))
            rows = {one["dataset"]: one for one in [*result["rows"], result.pop("unfinished")]}
            result["rows"] = [rows[name] for name in NAMES if name in rows]
            write_json(arguments.out, result)
        if NAMES[0] in arguments.datasets and not arguments.stages:
            result["processes"] = efficiency(NAMES[0], folder, 1 if quick else 3)
        write_json(arguments.out, result)
    finally:
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
