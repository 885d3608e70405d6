"""Training graphs of large datasets, cached in the form that message passing needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from girl import store
from girl.files import cache_root
from girl.graph.batch import Batch
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.kernel.sparse import SparseMatrix
from girl.nn.encoder import EncoderSettings
from girl.training.batch import induced_batch, make_batch
from girl.training.context import Context

#: Graphs of fewer edges are not cached: they are built in a second or two.
MIN_EDGES = 5_000_000

#: Raised when the same graph would be built into another batch.
FORMAT = 2


def cached_batch(data: Data, settings: EncoderSettings, context: Context | None = None) -> Batch:
    """As :func:`~girl.training.batch.make_batch`; the batch of a large graph is cached, and memory-mapped.

    Of several processes on a host, one builds it. The files in ``batches`` below the cache folder may be deleted.
    """
    context = context or Context()
    edges = 0 if data.edge_index is None else data.edge_index.shape[1]
    if edges < MIN_EDGES or "graph" in data or data.x is None:
        return make_batch(data, settings, context.device)
    key = [data.edge_index, data.edge_weight, data.x, settings.directed, settings.normalize]
    return _cached(key, edges, lambda: make_batch(data, settings), context).to(context.device)


def cached_part(graph: Batch, nodes: Tensor, context: Context | None = None) -> Batch:
    """As :func:`~girl.training.batch.induced_batch`, cached in the same way."""
    edges = graph.graph.adjacency.values().numel()
    if edges < MIN_EDGES or graph.graph_id is not None or graph.x.device.type != "cpu":
        return induced_batch(graph, nodes)
    return _cached([*_content(graph), nodes], edges, lambda: induced_batch(graph, nodes), context or Context())


def _cached(key: list[Any], edges: int, build: Callable[[], Batch], context: Context) -> Batch:
    path = cache_root() / "batches" / f"{edges}-{store.fingerprint(FORMAT, key)}.safetensors"
    tensors, value = context.distributed.local_main_first(lambda: store.cached(path, lambda: _content(build())))
    x = tensors["x"]
    dense = x.layout == torch.strided
    features = NodeFeatures(dense=x) if dense else NodeFeatures(sparse=SparseMatrix(x), offset=tensors.get("offset"))
    return Batch(features, Graph(tensors["adjacency"], **value))


def _content(batch: Batch) -> store.Content:
    x, graph = batch.x, batch.graph
    tensors = {"adjacency": graph.adjacency, "x": x.dense() if x.sparse is None else x.sparse.tensor}
    if x.offset is not None:
        tensors["offset"] = x.offset
    return tensors, {"symmetric": graph.symmetric, "weighted": graph.weighted}
