"""Training graphs of large datasets, cached in the form that message passing needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from girl import store
from girl.files import cache_root
from girl.graph.features import Features
from girl.graph.graph import Graph
from girl.graph.sparse_matrix import Operator
from girl.methods.base import Batch
from girl.nn.encoder import EncoderSettings
from girl.training.distributed import ALONE, World
from girl.training.run import batch_of, seen_by

#: Graphs of fewer edges are not cached: they are built in a second or two.
MIN_EDGES = 5_000_000

#: Raised when the same graph would be built into another batch.
FORMAT = 2


def cached_batch(
    data: Data,
    settings: EncoderSettings,
    device: torch.device | str = "cpu",
    *,
    world: World = ALONE,
    folder: Path | None = None,
) -> Batch:
    """As :func:`~girl.training.run.batch_of`; the batch of a large graph is cached, and memory-mapped.

    Args:
        data: features, edges and, if there is one, ``edge_weight``.
        settings: the encoder's.
        device: where the batch is wanted.
        world: the processes that want it. The first on each host builds it.
        folder: the cache, by default ``batches`` in the cache folder. Its files may be deleted at any time.
    """
    edges = 0 if data.edge_index is None else data.edge_index.shape[1]
    if edges < MIN_EDGES or "graph" in data or data.x is None:
        return batch_of(data, settings, device)
    key = [data.edge_index, data.edge_weight, data.x, settings.directed, settings.normalise]
    return world.in_turn(lambda: _cached(folder, edges, key, lambda: batch_of(data, settings))).to(device)


def cached_part(whole: Batch, nodes: Tensor, *, world: World = ALONE, folder: Path | None = None) -> Batch:
    """As :func:`~girl.training.run.seen_by`, cached in the same way."""
    edges = whole.graph.adjacency.values().numel()
    if edges < MIN_EDGES or whole.graphs is not None or whole.x.device.type != "cpu":
        return seen_by(whole, nodes)
    key = [*_content(whole), nodes]
    return world.in_turn(lambda: _cached(folder, edges, key, lambda: seen_by(whole, nodes)))


def _cached(folder: Path | None, edges: int, key: list[Any], build: Callable[[], Batch]) -> Batch:
    name = f"{edges}-{store.fingerprint(FORMAT, key)}.safetensors"
    tensors, value = store.cached((folder or cache_root() / "batches") / name, lambda: _content(build()))
    x = tensors["x"]
    dense = x.layout == torch.strided
    features = Features(dense=x) if dense else Features(sparse=Operator.of(x), offset=tensors.get("offset"))
    return Batch(features, Graph(tensors["adjacency"], **value))


def _content(batch: Batch) -> store.Content:
    x, graph = batch.x, batch.graph
    tensors = {"adjacency": graph.adjacency, "x": x.dense() if x.sparse is None else x.sparse.matrix}
    if x.offset is not None:
        tensors["offset"] = x.offset
    return tensors, {"symmetric": graph.symmetric, "weighted": graph.weighted}
