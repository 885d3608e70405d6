"""A torch_geometric graph as the batch that an encoder takes, and its fingerprint."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from girl import store
from girl.errors import InputError
from girl.graph.adjacency import check_edge_index
from girl.graph.batch import Batch
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.nn.encoder import EncoderSettings


def make_batch(data: Data, settings: EncoderSettings, device: torch.device | str = "cpu") -> Batch:
    """The batch of a full graph: normalised features, edges, edge weights (``edge_weight``) and graph ids, if any.

    A graph without features has a matrix without columns.
    """
    x = torch.zeros(data.num_nodes or 0, 0) if data.x is None else data.x
    num_nodes = x.shape[0]
    check_edge_index(data.edge_index, num_nodes)
    x = x.coalesce() if x.layout == torch.sparse_coo else x
    values = x if x.layout == torch.strided else x.values()
    if not bool(torch.isfinite(values).all()):
        raise InputError("x: given NaN or infinite features, expected finite numbers: fill or drop them first")
    weight = data.edge_weight
    if weight is not None and (bad := (~(torch.isfinite(weight) & (weight > 0))).nonzero()).numel():
        raise InputError(f"edge_weight: edge {int(bad[0])} has weight {weight[bad[0]].item():g}, expected above 0")
    graph = Graph.from_edges(data.edge_index, num_nodes, settings.directed, weight)
    graph_id = data.graph if "graph" in data else None
    num_graphs = 0
    if graph_id is not None:
        num_graphs = data.graphs if "graphs" in data else len(data.y)
    groups = data.column_group if "column_group" in data else None
    return Batch(NodeFeatures.from_tensor(x, settings.normalize), graph, None, graph_id, num_graphs, groups).to(device)


def induced_batch(data: Batch, nodes: Tensor) -> Batch:
    """The subgraph of some nodes as a graph of its own: all that inductive training sees."""
    part = data.subgraph(nodes)
    return Batch(part.x, part.graph, column_group=data.column_group)


def fingerprint(data: Batch) -> str:
    """A fingerprint of the graph. A checkpoint is resumed only if it matches."""
    adjacency = data.graph.adjacency
    parts = [adjacency.crow_indices(), adjacency.col_indices()]
    parts += [adjacency.values()] if data.graph.weighted else []
    return store.fingerprint(parts, data.graph_id, list(data.x.tensors))
