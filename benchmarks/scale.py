"""Graphs of the paper's largest sizes from raw files to probed representations, on this machine; and two processes.

Writes results/bench/scale.json after each stage. Stand-ins (random graphs of the real shapes, in the raw formats) are
made where the data is not at hand, in a folder of their own. Every stage is a process of its own that starts from
files, so that its peak is its own: reading raw files, making and cutting the graph, starting again from what was kept,
an epoch of GIRL, an epoch of a regularised classifier, all representations layer by layer, and the linear probe.

    python benchmarks/scale.py                          arxiv, Reddit, products: an hour on two cores, 25 GB of disk
    python benchmarks/scale.py --datasets ogbn-arxiv    one of them anew; what the file has of the others stays
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
from girl.api.embed import recipe_for
from girl.datasets.cache import availability
from girl.datasets.dataset import NodeDataset
from girl.datasets.registry import find
from girl.evaluation.probe import probe
from girl.files import write_json
from girl.graph.batch import Batch
from girl.graph.partition import cached_partition
from girl.lab.memory import apart, peak
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

#: With the parts that the paper cuts them into for its classifiers, ten of which are a batch.
NAMES = ("ogbn-arxiv", "reddit", "ogbn-products")
PARTS, PER_BATCH = 1500, 10

#: Width of GIRL's encoder, and of the classifier, which has three layers of SAGE as the paper's shallowest.
HIDDEN, WIDE, DEPTH = 128, 256, 3

#: Rows of an adjacency matrix that are looked at together.
ROWS = 1 << 16

#: What loading and training keep beside the raw files: the first stages are to be the first ones, in an old folder too.
KEPT = ("graphs", "batches", "clusters", "shared")

#: Where the benchmark keeps what one stage leaves for the next, in a folder for each graph.
RUN, VECTORS = "run", "vectors.npy"


def girl_recipe(nodes: int) -> Recipe:
    """What `girl embed` would take for a graph of this size, for one epoch; a small one is cut as well."""
    found = recipe_for(nodes).with_values({"hidden": HIDDEN, "epochs": 1, "normalise": "zscore"})
    return found if found.train.clusters else found.with_values({"clusters": 4})


def classifier_recipe(nodes: int) -> SupervisedRecipe:
    """The paper's shallowest classifier with KR, for one epoch."""
    parts = min(PARTS, max(nodes // 100, 2))
    batches = {"clusters": parts, "per_batch": min(PER_BATCH, parts // 2), "epochs": 1}
    return SupervisedRecipe().with_values(
        {"depth": DEPTH, "hidden": WIDE, "normalise": "zscore", "regularizer": {"regularizer": "kr"}, "train": batches}
    )


def seen(name: str) -> tuple[NodeDataset, Batch, Batch]:
    """The dataset, its graph, and the part that training sees."""
    found = datasets.load(name)
    whole = cached_batch(found.data, girl_recipe(found.data.num_nodes).encoder)
    part = whole
    if found.inductive:
        part = cached_part(whole, splits.get(found.protocols[0]).split(found, 0).train)
    return found, whole, part


def first_load(name: str, folder: Path) -> dict[str, Any]:
    """Raw files to a graph in the cache."""
    found = datasets.load(name)
    n, d = found.data.x.shape
    return {"nodes": n, "edges": found.data.edge_index.shape[1], "features": d, "stand_in": found.stand_in}


def first_cut(name: str, folder: Path) -> dict[str, Any]:
    """The graph as message passing needs it, and METIS parts of it."""
    _, _, part = seen(name)
    began = time.perf_counter()
    cached_partition(part.graph, girl_recipe(part.num_nodes).train.clusters)
    return {"cutting_seconds": time.perf_counter() - began}


def second_start(name: str, folder: Path) -> dict[str, Any]:
    """The same from what was kept."""
    first_cut(name, folder)
    return {}


def epoch(name: str, folder: Path) -> dict[str, Any]:
    """An epoch of GIRL; its own time is that of the steps, without what is prepared before."""
    _, _, part = seen(name)
    recipe = girl_recipe(part.num_nodes)
    run = pretrain(part, recipe, Context(folder=folder / RUN, resume="never"))
    loss = recipe.method
    assert isinstance(loss, GIRLSettings)
    columns = len(loss.targets) * min(loss.target_rank, part.x.shape[1])
    told = {"hidden": HIDDEN, "hops": recipe.encoder.hops, "rows": loss.rows, "rank": loss.rank, "columns": columns}
    edges = part.graph.adjacency.values().numel()
    return {"epoch_seconds": run.history.seconds, "epoch_nodes": part.num_nodes, "epoch_edges": edges, **told}


def batches(name: str) -> dict[str, Any]:
    """Steps of an epoch of GIRL, and the edges that they see: those within METIS parts."""
    _, _, part = seen(name)
    found = cached_partition(part.graph, girl_recipe(part.num_nodes).train.clusters)
    crow, col = part.graph.adjacency.crow_indices(), part.graph.adjacency.col_indices()
    within = 0
    for start in range(0, part.num_nodes, ROWS):
        ends = crow[start : start + ROWS + 1]
        rows = torch.repeat_interleave(found[start : start + ROWS], ends.diff())
        within += int((rows == found[col[int(ends[0]) : int(ends[-1])].long()]).sum())
    return {"steps": int(found.max()) + 1, "batch_edges": within}


def supervised(name: str, folder: Path) -> dict[str, Any]:
    """An epoch of a classifier with KR on its layers, and a look at the validation nodes."""
    found = datasets.load(name)
    run = train_on_split(found, splits.get(found.protocols[0]), 0, classifier_recipe(found.data.num_nodes))
    return {"epoch_seconds": run.history.seconds, "val": run.scores["val"]}


def embedding(name: str, folder: Path) -> dict[str, Any]:
    """All nodes' representations by the trained encoder, layer by layer."""
    run = load_run(folder / RUN)
    _, whole, _ = seen(name)
    began = time.perf_counter()
    vectors = run.embed(whole)
    spent = time.perf_counter() - began
    save_embedding(folder / VECTORS, vectors)
    return {"embed_seconds": spent, "columns": vectors.shape[1]}


def probing(name: str, folder: Path) -> dict[str, Any]:
    """The linear probe on the dataset's split."""
    found = datasets.load(name)
    split = splits.get(found.protocols[0]).split(found, 0)
    vectors = torch.from_numpy(np.load(folder / VECTORS, mmap_mode="c"))
    score = probe(vectors, found.data.y, split, multilabel=found.multilabel)
    return {"probe_seconds": score.seconds, "val": score.val}


#: The stages, in order, by the names that the report has for them.
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
    """What a stage tells, with its seconds and the peak of its process."""
    began, cpu = time.perf_counter(), time.process_time()
    found = STAGES[stage](name, folder)
    spent = time.perf_counter() - began
    busy = (time.process_time() - cpu) / spent
    return {"seconds": spent, "peak_bytes": peak(), "busy": busy, **found}


def efficiency(name: str, folder: Path, epochs: int) -> dict[str, Any]:
    """Seconds of training on the same batches: one process, and two, with one thread each; and one with two threads."""
    batches = ["--clusters", "64", "--per-batch", "8", "--hidden", str(HIDDEN), "--target-rank", "64"]
    command = ["-m", "girl", "pretrain", name, "--epochs", str(epochs), "--resume", "never", *batches]
    together = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    found: dict[str, Any] = {"dataset": name, "epochs": epochs, "batches": " ".join(batches)}
    for way, before, threads in (("one", [], 1), ("two", together, 1), ("threads", [], 2)):
        out = folder / way
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        done = [sys.executable, *before, *command, "--out", str(out)]
        subprocess.run(done, check=True, env=environment, stdout=subprocess.DEVNULL)
        found[f"{way}_seconds"] = json.loads((out / "history.json").read_text(encoding="utf-8"))["seconds"]
        shutil.rmtree(out)
    return found


def earlier(path: Path, now: dict[str, Any]) -> dict[str, Any]:
    """What a run with the same sizes and threads has written before; nothing, if there was none."""
    before: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return before if all(before.get(key) == value for key, value in now.items()) else {"rows": []}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small pictures of the graphs, to see that it runs")
    parser.add_argument("--out", type=Path, default=Path("results/bench/scale.json"))
    parser.add_argument("--datasets", nargs="+", default=list(NAMES), choices=NAMES)
    parser.add_argument("--stages", nargs="+", choices=list(STAGES), help="some anew, in a folder that was kept")
    parser.add_argument("--folder", type=Path, help="where stand-ins and what is made of them go; by default a new one")
    parser.add_argument("--keep", action="store_true", help="do not delete the folder at the end")
    arguments = parser.parse_args()
    quick: bool = arguments.quick
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="girl-scale-"))
    os.environ["GIRL_DATA"] = str(folder / "data")
    result: dict[str, Any] = {"benchmark": "scale", "quick": quick, "threads": torch.get_num_threads()}
    where = provenance()
    result = earlier(arguments.out, result) | result | {"provenance": where}
    known = {row["dataset"]: row for row in result["rows"]}
    if arguments.stages and not (arguments.folder and set(arguments.datasets) <= known.keys()):
        parser.error(f"--stages: expected a --folder that was kept, and every other stage in {arguments.out}")
    if not arguments.stages:
        result["rows"] = [row for name, row in known.items() if name not in arguments.datasets]
        for kept in KEPT:
            shutil.rmtree(folder / "data" / kept, ignore_errors=True)
    try:
        for name in arguments.datasets:
            if availability(find(name), folder / "data", None) == "download":
                print(f"{name}: making the stand-in", flush=True)
                make_stand_in(name, scale=0.002 if quick else 1.0)
            row = known[name] if arguments.stages else {"dataset": name, "stages": {}}
            result["unfinished"] = row
            for stage in arguments.stages or STAGES:
                row["stages"][stage] = found = apart(measured, stage, name, folder / name, fresh=not quick)
                found["commit"] = where["commit"]
                if stage == "GIRL, one epoch":
                    found |= apart(batches, name, fresh=not quick)
                write_json(arguments.out, result)
                told = f"{found['seconds']:.1f} s, peak {found['peak_bytes'] / 1e9:.2f} GB"
                print(f"{name}, {stage}: {told}", flush=True)
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
