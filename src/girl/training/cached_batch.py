"""The training graph of a large dataset, kept in the cache as message passing needs it."""

from __future__ import annotations

import json
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from girl.datasets.cache import cache_root
from girl.graph.features import Features
from girl.graph.graph import Graph
from girl.graph.sparse_matrix import Operator
from girl.methods.base import Batch
from girl.nn.encoder import EncoderSettings
from girl.training.batch import induced_batch, make_batch
from girl.training.checkpoint import DamagedError
from girl.training.distributed import SINGLE_PROCESS, Distributed
from girl.training.shared_tensors import read_mapped, write_mapped

#: Edges from which on a named dataset is kept as a batch: of fewer, it is made in a second or two.
KEPT = 5_000_000

#: Raised when the same graph would be made into another batch.
FORMAT = 1


def kept_batch(
    data: Data,
    settings: EncoderSettings,
    device: torch.device | str = "cpu",
    *,
    processes: Distributed = SINGLE_PROCESS,
    folder: Path | None = None,
) -> Batch:
    """As :func:`~girl.training.run.batch_of`; a large graph is kept in the cache, and mapped from there.

    Args:
        data: features, edges and, if there is one, ``edge_weight``.
        settings: of the encoder that is to see it.
        device: where the batch is wanted.
        processes: the processes that want it. The first on each host makes it.
        folder: the cache, by default ``batches`` where datasets are kept. A file that cannot be read is made anew, and
            any may be deleted.
    """
    edges = 0 if data.edge_index is None else data.edge_index.shape[1]
    if edges < KEPT or "graph" in data or data.x is None:
        return make_batch(data, settings, device)
    key = _key([data.edge_index, data.edge_weight, data.x], [FORMAT, settings.directed, settings.normalise])
    path = _place(folder, data.x.shape[0], edges, key)
    return processes.local_main_first(lambda: _kept(path, lambda: make_batch(data, settings))).to(device)


def kept_part(
    whole: Batch, nodes: Tensor, *, processes: Distributed = SINGLE_PROCESS, folder: Path | None = None
) -> Batch:
    """As :func:`~girl.training.run.seen_by`, kept and mapped in the same way."""
    adjacency, device = whole.graph.adjacency, whole.x.device
    edges = adjacency.values().numel()
    if edges < KEPT or whole.graphs is not None or device.type != "cpu":
        return induced_batch(whole, nodes)
    x = whole.x
    features = x.dense() if x.sparse is None else x.sparse.matrix
    key = _key([adjacency, features, x.offset, nodes], [FORMAT, whole.graph.symmetric])
    path = _place(folder, len(nodes), edges, key)
    return processes.local_main_first(lambda: _kept(path, lambda: induced_batch(whole, nodes)))


def _place(folder: Path | None, nodes: int, edges: int, key: int) -> Path:
    return (folder or cache_root() / "batches") / f"{nodes}-{edges}-{key:08x}.safetensors"


def _kept(path: Path, make: Callable[[], Batch]) -> Batch:
    if path.is_file():
        try:
            return _batch(*read_mapped(path))
        except DamagedError as error:
            warnings.warn(f"{error}; it is made anew", stacklevel=2)
    made = make()
    try:
        write_mapped(path, *_tensors(made))
    except OSError as error:  # a full disk costs the next run some seconds, not this one its life
        warnings.warn(f"{path}: the graph could not be kept ({error.strerror or error})", stacklevel=2)
        return made
    del made
    return _batch(*read_mapped(path))


def _tensors(batch: Batch) -> tuple[dict[str, Tensor], dict[str, bool]]:
    found = {"adjacency": batch.graph.adjacency}
    x = batch.x
    found["x"] = x.dense() if x.sparse is None else x.sparse.matrix
    if x.offset is not None:
        found["offset"] = x.offset
    return found, {"symmetric": batch.graph.symmetric, "weighted": batch.graph.weighted}


def _batch(tensors: dict[str, Tensor], about: dict[str, bool]) -> Batch:
    x, adjacency = tensors["x"], tensors["adjacency"]
    if x.layout == torch.strided:
        features = Features(dense=x)
    else:
        features = Features(sparse=Operator.of(x), offset=tensors.get("offset"))
    return Batch(features, Graph(adjacency, about["symmetric"], about["weighted"]))


def _key(tensors: list[Tensor | None], rest: list[Any]) -> int:
    value = zlib.crc32(json.dumps(rest).encode())
    for tensor in tensors:
        if tensor is None:
            continue
        dense = tensor.layout == torch.strided
        parts = [tensor] if dense else [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
        for part in parts:
            value = zlib.crc32(f"{part.dtype} {list(part.shape)}".encode(), value)
            value = zlib.crc32(part.contiguous().view(-1).view(torch.uint8).numpy().data, value)
    return value
