"""Is this installation well? Every part that girl leans on is used once, for real, and judged by what it gives."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

#: Free bytes below which the disk of the cache is worth a word.
LITTLE_SPACE = 2e9

#: What each extra is for.
EXTRAS = {
    "umap": "the UMAP plane of reports",
    "anndata": ".h5ad files",
    "search": "girl search",
    "ogb": "OGB's own evaluator",
}


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    name: str
    state: Literal["well", "note", "fault"]
    said: str
    remedy: str = ""


def examine() -> Iterator[Finding]:
    """Every check's finding, as it comes. One that fails in an unforeseen way is a fault, and the others go on."""
    for name, check in _CHECKS.items():
        began = time.monotonic()
        try:
            yield from check(name)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            spent = time.monotonic() - began
            yield Finding(name, "fault", f"{reason} (after {spent:.1f} s)", "install girl and its requirements anew")


def _machine(name: str) -> Iterator[Finding]:
    import psutil

    free = psutil.virtual_memory().available / 1e9
    said = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    yield Finding(name, "well", f"{said}, {free:.1f} GB of memory free")


def _packages(name: str) -> Iterator[Finding]:
    from packaging.requirements import Requirement

    wanted = [Requirement(line) for line in metadata.requires("girl") or ()]
    bad, count = [], 0
    for one in wanted:
        if one.marker is not None and not one.marker.evaluate({"extra": ""}):
            continue
        count += 1
        try:
            found = metadata.version(one.name)
        except metadata.PackageNotFoundError:
            bad.append(f"{one.name} is missing")
            continue
        if not one.specifier.contains(found, prereleases=True):
            bad.append(f"{one.name} {found}, expected {one.specifier}")
    if bad:
        yield Finding(name, "fault", "; ".join(bad), "pip install --upgrade girl")
    else:
        known = ", ".join(f"{one} {metadata.version(one)}" for one in ("torch", "torch-geometric", "numpy", "polars"))
        yield Finding(name, "well", f"all {count} requirements are met: {known}, ...")
    extras = [one for one in wanted if one.marker is not None and not _is_there(one.name)]
    lacking = [
        f"{extra} ({purpose})"
        for extra, purpose in EXTRAS.items()
        if any(one.marker.evaluate({"extra": extra}) for one in extras if one.marker is not None)
    ]
    if lacking:
        yield Finding("extras", "note", f"not installed: {', '.join(lacking)}", "pip install 'girl[NAME]' brings one")
    else:
        yield Finding("extras", "well", "all are installed")


def _is_there(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _loss(name: str) -> Iterator[Finding]:
    """The gradient of ρ̂ against differences, and the low-rank path at full rank against the exact one."""
    import torch

    import girl

    draw = torch.Generator().manual_seed(0)
    x = torch.randn(60, 3, dtype=torch.float64, generator=draw)
    y = x[:, :1].sin() + 0.1 * torch.randn(60, 1, dtype=torch.float64, generator=draw)
    exact, low = girl.KRLoss(features="exact"), girl.KRLoss(features="nystrom", rank=60)
    away = abs(float(exact(x, y)) - float(low(x, y)))
    step = 1e-6 * torch.randn(x.shape, dtype=x.dtype, generator=draw)
    inner = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(exact(inner, y), inner)
    wanted = float(exact(x + step, y) - exact(x - step, y)) / 2
    off = abs(float((slope * step).sum()) - wanted) / abs(wanted)
    good = away < 1e-6 and off < 1e-4
    said = f"gradient within {off:.0e} of differences, low rank within {away:.0e} of exact"
    yield Finding(name, "well" if good else "fault", said, "" if good else "reinstall torch: its algebra is wrong")


def _message_passing(name: str) -> Iterator[Finding]:
    """A sparse product against the same written out."""
    import torch

    from girl.graph.graph import Graph

    draw = torch.Generator().manual_seed(0)
    edges = torch.randint(200, (2, 900), generator=draw)
    graph, z = Graph.from_edges(edges, 200), torch.randn(200, 8, generator=draw)
    off = float((graph.gcn @ z - graph.gcn.tensor.to_dense() @ z).abs().max())
    good = off < 1e-4
    remedy = "" if good else "reinstall scipy and torch: their sparse products disagree"
    yield Finding(name, "well" if good else "fault", f"sparse products within {off:.0e}", remedy)


def _metis(name: str) -> Iterator[Finding]:
    """A ring of 400 nodes in four parts: a good cut breaks four edges."""
    import torch

    from girl.graph.graph import Graph
    from girl.graph.partition import partition

    ring = torch.stack([torch.arange(400), (torch.arange(400) + 1) % 400])
    part = partition(Graph.from_edges(ring, 400), 4)
    cut = int((part[ring[0]] != part[ring[1]]).sum())
    sizes = torch.bincount(part).tolist()
    good = cut <= 12 and len(sizes) == 4 and min(sizes) > 80
    remedy = "" if good else "pip install --force-reinstall pymetis"
    yield Finding(
        name, "well" if good else "fault", f"a ring of 400 nodes in parts of {sizes}, {cut} edges cut", remedy
    )


def _device(name: str) -> Iterator[Finding]:
    import torch

    draw = torch.Generator().manual_seed(0)
    a = torch.randn(64, 64, generator=draw)
    kinds = [kind for kind, there in (("cuda", torch.cuda.is_available()), ("mps", _mps())) if there]
    for kind in kinds:
        off = float((a.to(kind) @ a.to(kind).T).cpu().sub(a @ a.T).abs().max())
        good = off < 0.1  # reduced precision is not a fault
        remedy = "" if good else "update its driver, or use --device cpu"
        yield Finding(name, "well" if good else "fault", f"{kind} works, products within {off:.0e}", remedy)
    if not kinds:
        yield Finding(name, "well", f"no accelerator; the CPU is used, with {torch.get_num_threads()} threads")


def _mps() -> bool:
    import torch

    return torch.backends.mps.is_available()


def _cache(name: str) -> Iterator[Finding]:
    """The folder of datasets: a tensor written there is read back, and there is space for more."""
    import torch

    from girl import store
    from girl.files import cache_root

    root = cache_root()
    elsewhere = "set GIRL_DATA to another folder"
    near = next(folder for folder in (root, *root.parents) if folder.exists())
    if not os.access(near, os.W_OK):
        yield Finding(name, "fault", f"{root}: nothing can be written there", elsewhere)
        return
    with tempfile.TemporaryDirectory(dir=near) as folder:
        made = torch.arange(1000.0)
        store.save(Path(folder, "a.safetensors"), {"a": made})
        same = torch.equal(store.load(Path(folder, "a.safetensors"))[0]["a"], made)
    free = shutil.disk_usage(near).free
    said = f"{root}, {free / 1e9:.1f} GB free"
    if not same:
        yield Finding(
            name, "fault", f"{root}: what is written there comes back changed", f"check the disk; {elsewhere}"
        )
    elif free < LITTLE_SPACE:
        yield Finding(name, "note", said, f"free some space, or {elsewhere}")
    else:
        yield Finding(name, "well", said)


def _datasets(name: str) -> Iterator[Finding]:
    """The graphs in the cache: is every byte as it was written?"""
    from girl.datasets.cache import graph_path, mirror_root
    from girl.datasets.graph_file import load_graph
    from girl.datasets.registry import DATASETS
    from girl.errors import DamagedError
    from girl.files import cache_root

    damaged, whole = [], 0
    for entry in DATASETS.values():
        path = graph_path(entry, cache_root())
        if path.is_file():
            try:
                load_graph(path, entry.name)
                whole += 1
            except DamagedError:
                damaged.append(entry.name)
    mirror = mirror_root()
    said = f"{whole} in the cache are whole; " + ("no mirror" if mirror is None else f"mirror {mirror}")
    if damaged:
        remedy = "they are made anew when they are next used"
        yield Finding(name, "note", f"{said}; damaged or of another version: {', '.join(damaged)}", remedy)
    else:
        yield Finding(name, "well", said)


def _processes(name: str) -> Iterator[Finding]:
    """Two processes add up a tensor, as under torchrun."""
    import torch.multiprocessing as mp

    with tempfile.TemporaryDirectory() as folder:
        context = mp.get_context("spawn")
        workers = [context.Process(target=_add, args=(rank, Path(folder))) for rank in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
        good = all(worker.exitcode == 0 for worker in workers)
        for worker in workers:
            worker.kill()
    said = "two processes added up a tensor by gloo" if good else "two processes could not add up a tensor by gloo"
    remedy = (
        "" if good else "torchrun will not work here: is the loopback interface closed? One process works all the same"
    )
    yield Finding(name, "well" if good else "note", said, remedy)


def _add(rank: int, folder: Path) -> None:
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo", f"file://{folder}/store", rank=rank, world_size=2)
    total = torch.full((3,), float(rank + 1))
    dist.all_reduce(total)
    dist.destroy_process_group()
    sys.exit(0 if total.tolist() == [3.0] * 3 else 1)


def _training(name: str) -> Iterator[Finding]:
    """The digits, a few epochs: does the loss fall?"""
    from girl import datasets
    from girl.training.batch import make_batch
    from girl.training.recipe import Recipe
    from girl.training.run import pretrain

    recipe = Recipe().with_values({"hidden": 16, "epochs": 5, "rows": 512})
    began = time.perf_counter()
    run = pretrain(make_batch(datasets.load("digits").data, recipe.encoder), recipe)
    first, *_, last = (sum(terms.values()) for terms in run.history.epochs)
    said = f"five epochs on the digits in {time.perf_counter() - began:.1f} s, loss {first:.2f} to {last:.2f}"
    good = last < first
    yield Finding(name, "well" if good else "fault", said, "" if good else "reinstall torch: training does not train")


_CHECKS: dict[str, Callable[[str], Iterator[Finding]]] = {
    "machine": _machine,
    "packages": _packages,
    "loss": _loss,
    "message passing": _message_passing,
    "METIS": _metis,
    "device": _device,
    "cache": _cache,
    "datasets": _datasets,
    "training": _training,
    "processes": _processes,
}
