"""Checks of an installation: every part that girl needs is used once, and its result is verified."""

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

#: Less free disk space than this, in bytes, is reported.
LITTLE_SPACE = 2e9

#: What each optional dependency is for.
EXTRAS = {
    "umap": "the UMAP map of reports",
    "anndata": ".h5ad files",
    "search": "girl search",
    "ogb": "OGB's own evaluator",
}


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    name: str
    state: Literal["ok", "note", "error"]
    text: str
    remedy: str = ""


def _finding(name: str, ok: bool, text: str, remedy: str) -> Finding:
    """A finding that is ok, or an error with a remedy."""
    return Finding(name, "ok", text) if ok else Finding(name, "error", text, remedy)


def examine() -> Iterator[Finding]:
    """The finding of every check, one by one. A check that raises is an error, and the others still run."""
    for name, check in _CHECKS.items():
        started = time.monotonic()
        try:
            yield from check(name)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            spent = time.monotonic() - started
            yield Finding(name, "error", f"{reason} (after {spent:.1f} s)", "install girl and its requirements again")


def _machine(name: str) -> Iterator[Finding]:
    import psutil

    free = psutil.virtual_memory().available / 1e9
    text = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    yield Finding(name, "ok", f"{text}, {free:.1f} GB of memory free")


def _packages(name: str) -> Iterator[Finding]:
    from packaging.requirements import Requirement

    requirements = [Requirement(line) for line in metadata.requires("girl") or ()]
    required = [r for r in requirements if r.marker is None or r.marker.evaluate({"extra": ""})]
    problems = []
    for requirement in required:
        installed = _version(requirement.name)
        if installed is None:
            problems.append(f"{requirement.name} is missing")
        elif not requirement.specifier.contains(installed, prereleases=True):
            problems.append(f"{requirement.name} {installed}, expected {requirement.specifier}")
    versions = ", ".join(
        f"{package} {_version(package)}" for package in ("torch", "torch-geometric", "numpy", "polars")
    )
    text = "; ".join(problems) or f"all {len(required)} requirements are met: {versions}, ..."
    yield _finding(name, not problems, text, "pip install --upgrade girl")
    optional = [r.marker for r in requirements if r.marker is not None and _version(r.name) is None]
    missing = [
        f"{extra} ({purpose})"
        for extra, purpose in EXTRAS.items()
        if any(marker.evaluate({"extra": extra}) for marker in optional)
    ]
    if missing:
        yield Finding(
            "extras", "note", f"not installed: {', '.join(missing)}", "install one by pip install 'girl[NAME]'"
        )
    else:
        yield Finding("extras", "ok", "all are installed")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _loss(name: str) -> Iterator[Finding]:
    """The gradient of ρ̂ against finite differences, and low rank at full rank against the exact loss."""
    import torch

    import girl

    generator = torch.Generator().manual_seed(0)
    x = torch.randn(60, 3, dtype=torch.float64, generator=generator)
    y = x[:, :1].sin() + 0.1 * torch.randn(60, 1, dtype=torch.float64, generator=generator)
    exact, low_rank = girl.KRLoss(features="exact"), girl.KRLoss(features="nystrom", rank=60)
    difference = abs(float(exact(x, y)) - float(low_rank(x, y)))
    step = 1e-6 * torch.randn(x.shape, dtype=x.dtype, generator=generator)
    inputs = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(exact(inputs, y), inputs)
    expected = float(exact(x + step, y) - exact(x - step, y)) / 2
    error = abs(float((gradient * step).sum()) - expected) / abs(expected)
    text = f"gradient within {error:.0e} of finite differences, low rank within {difference:.0e} of exact"
    yield _finding(name, difference < 1e-6 and error < 1e-4, text, "reinstall torch: its linear algebra is wrong")


def _message_passing(name: str) -> Iterator[Finding]:
    """A sparse product against the dense one."""
    import torch

    from girl.graph.graph import Graph

    generator = torch.Generator().manual_seed(0)
    graph = Graph.from_edges(torch.randint(200, (2, 900), generator=generator), 200)
    z = torch.randn(200, 8, generator=generator)
    error = float((graph.gcn @ z - graph.gcn.tensor.to_dense() @ z).abs().max())
    text = f"sparse products within {error:.0e} of dense ones"
    yield _finding(name, error < 1e-4, text, "reinstall scipy and torch: their sparse products disagree")


def _metis(name: str) -> Iterator[Finding]:
    """A ring of 400 nodes in four parts: the best partition cuts four edges."""
    import torch

    from girl.graph.graph import Graph
    from girl.graph.partition import partition

    ring = torch.stack([torch.arange(400), (torch.arange(400) + 1) % 400])
    part = partition(Graph.from_edges(ring, 400), 4)
    cut = int((part[ring[0]] != part[ring[1]]).sum())
    sizes = torch.bincount(part).tolist()
    text = f"a ring of 400 nodes in parts of {sizes}, {cut} edges cut"
    ok = cut <= 12 and len(sizes) == 4 and min(sizes) > 80
    yield _finding(name, ok, text, "pip install --force-reinstall pymetis")


def _device(name: str) -> Iterator[Finding]:
    import torch

    a = torch.randn(64, 64, generator=torch.Generator().manual_seed(0))
    devices = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    for device in (name for name, available in devices.items() if available):
        error = float((a.to(device) @ a.to(device).T).cpu().sub(a @ a.T).abs().max())
        text = f"{device} works, products within {error:.0e}"
        yield _finding(name, error < 0.1, text, "update its driver, or use --device cpu")  # 0.1 allows for TF32
    if not any(devices.values()):
        yield Finding(name, "ok", f"no accelerator; the CPU is used, with {torch.get_num_threads()} threads")


def _cache(name: str) -> Iterator[Finding]:
    """A tensor that is written to the cache folder is read back, and there is space for more."""
    import torch

    from girl import store
    from girl.files import cache_root

    root = cache_root()
    remedy = "set GIRL_DATA to another folder"
    folder = next(folder for folder in (root, *root.parents) if folder.exists())
    if not os.access(folder, os.W_OK):
        yield Finding(name, "error", f"{root}: cannot be written to", remedy)
        return
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        path, tensor = Path(scratch, "a.safetensors"), torch.arange(1000.0)
        store.save(path, {"a": tensor})
        same = torch.equal(store.load(path)[0]["a"], tensor)
    free = shutil.disk_usage(folder).free
    if not same:
        yield Finding(name, "error", f"{root}: a file reads back changed", f"check the disk; {remedy}")
    elif free < LITTLE_SPACE:
        yield Finding(name, "note", f"{root}, {free / 1e9:.1f} GB free", f"free some space, or {remedy}")
    else:
        yield Finding(name, "ok", f"{root}, {free / 1e9:.1f} GB free")


def _datasets(name: str) -> Iterator[Finding]:
    """The digests of the cached datasets."""
    from girl.datasets.cache import graph_path, mirror_root
    from girl.datasets.graph_file import load_graph
    from girl.datasets.registry import DATASETS
    from girl.errors import DamagedError
    from girl.files import cache_root

    damaged, count = [], 0
    for entry in DATASETS.values():
        path = graph_path(entry, cache_root())
        if path.is_file():
            try:
                load_graph(path, entry.name)
                count += 1
            except DamagedError:
                damaged.append(entry.name)
    mirror = mirror_root()
    text = f"{count} in the cache are intact; " + ("no mirror" if mirror is None else f"mirror {mirror}")
    if damaged:
        text += f"; damaged or of another version: {', '.join(damaged)}"
        yield Finding(name, "note", text, "they are read again from raw files when they are next used")
    else:
        yield Finding(name, "ok", text)


def _processes(name: str) -> Iterator[Finding]:
    """Two processes sum a tensor, as under torchrun."""
    import torch.multiprocessing as mp

    with tempfile.TemporaryDirectory() as folder:
        context = mp.get_context("spawn")
        workers = [context.Process(target=_add, args=(rank, Path(folder))) for rank in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
        ok = all(worker.exitcode == 0 for worker in workers)
        for worker in workers:
            worker.kill()
    if ok:
        yield Finding(name, "ok", "two processes summed a tensor by gloo")
    else:
        remedy = "torchrun will not work here (is the loopback interface closed?); a single process does"
        yield Finding(name, "note", "two processes could not sum a tensor by gloo", remedy)


def _add(rank: int, folder: Path) -> None:
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo", f"file://{folder}/store", rank=rank, world_size=2)
    total = torch.full((3,), float(rank + 1))
    dist.all_reduce(total)
    dist.destroy_process_group()
    sys.exit(0 if total.tolist() == [3.0] * 3 else 1)


def _training(name: str) -> Iterator[Finding]:
    """A few epochs on the digits lower the loss."""
    import girl

    started = time.perf_counter()
    run = girl.pretrain("digits", "default", hidden=16, epochs=5, rows=512)
    first, *_, last = (sum(terms.values()) for terms in run.history.epochs)
    text = f"five epochs on the digits in {time.perf_counter() - started:.1f} s, loss {first:.2f} to {last:.2f}"
    yield _finding(name, last < first, text, "reinstall torch: training does not lower the loss")


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
