"""Large tensors in files that processes map: those on one host then share the pages, and a later run needs no making.

A mapped tensor is read from the disk when it is touched, and is the same memory for all processes that map it. Writing
to one changes the process's own copy of a page, never the file.
"""

from __future__ import annotations

import secrets
import socket
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from girl.datasets.cache import cache_root
from girl.kernel.sparse import csr
from girl.training.checkpoint import load, save
from girl.training.distributed import Distributed

_CSR = ("crow", "col", "values")


def write_mapped(path: Path, tensors: dict[str, Tensor], about: Any = None) -> None:
    """Write tensors, dense or CSR, and a JSON value, whole or not at all."""
    flat: dict[str, Tensor] = {}
    shapes = {}
    for name, tensor in tensors.items():
        if tensor.layout == torch.sparse_csr:
            parts = tensor.crow_indices(), tensor.col_indices(), tensor.values()
            flat |= {f"{name}.{part}": value for part, value in zip(_CSR, parts, strict=True)}
            shapes[name] = list(tensor.shape)
        else:
            flat[name] = tensor
    save(path, flat, {"csr": shapes, "about": about})


def read_mapped(path: Path) -> tuple[dict[str, Tensor], Any]:
    """Read what :func:`write_mapped` wrote. Raises ``DamagedError`` if any byte has changed."""
    found, meta = load(path)
    for name, (rows, columns) in meta["csr"].items():
        crow, col, values = (found.pop(f"{name}.{part}") for part in _CSR)
        found[name] = csr(crow, col, values, (rows, columns))
    return found, meta["about"]


def shared_tensors(
    make: Callable[[], dict[str, Tensor]], processes: Distributed, folder: Path | None = None
) -> dict[str, Tensor]:
    """What ``make`` gives, on every process; made once on each host, and then the same memory for all.

    Args:
        make: gives the same on every process.
        processes: the processes.
        folder: where the file is while they map it, by default ``shared`` where datasets are kept.
    """
    if processes.num_processes == 1:
        return make()
    name = f"{socket.gethostname()}-{int(processes.broadcast_number(secrets.randbelow(2**52)))}.safetensors"
    path = (folder or cache_root() / "shared") / name
    made: dict[str, Tensor] | None = None
    written = 1.0
    try:
        if processes.is_local_main:
            made = make()
            try:
                write_mapped(path, made)
            except OSError as error:
                written = 0.0
                warnings.warn(
                    f"{path}: cannot be written ({error.strerror or error}); each process has its own copy",
                    stacklevel=2,
                )
        if processes.mean({"written": written})["written"] < 1:
            return make() if made is None else made
        del made
        found, _ = read_mapped(path)
        processes.barrier()
        return found
    finally:
        # It goes, the memory stays: nothing is left behind, however the run ends.
        if processes.is_local_main:
            path.unlink(missing_ok=True)
