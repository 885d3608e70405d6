"""A list of graphs as one graph: their disjoint union."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch_geometric.data import Data

from girl.errors import InputError
from girl.graph.adjacency import check_edge_index


def disjoint_union(graphs: Sequence[Data]) -> Data:
    """One ``Data`` with ``x``, ``edge_index``, ``graph`` (n: the graph of each node) and ``graphs``, their number.

    Edge weights are kept if all graphs have them. Graphs without nodes are allowed: readouts give them zeros. A PyG
    ``Batch`` would lose both rules, and the name of the graph that is at fault.
    """
    if not len(graphs):
        raise InputError("graphs: given none, expected at least one")
    for index, graph in enumerate(graphs):
        if not isinstance(graph, Data):
            raise InputError(f"graph {index}: given a {type(graph).__name__}, expected a torch_geometric Data")
        if graph.x is None or graph.x.dim() != 2:
            raise InputError(f"graph {index}: x is missing, expected node features (n × d)")
        columns = graphs[0].x.shape[1]
        if graph.x.shape[1] != columns:
            raise InputError(f"graph {index}: given {graph.x.shape[1]} features, expected {columns} as in graph 0")
        try:
            check_edge_index(graph.edge_index, graph.x.shape[0])
        except InputError as error:
            raise InputError(f"graph {index}: {error}") from error
    sizes = torch.tensor([graph.x.shape[0] for graph in graphs])
    first = (sizes.cumsum(0) - sizes).tolist()
    union = Data(
        x=torch.cat([graph.x if graph.x.layout == torch.strided else graph.x.to_dense() for graph in graphs]).float(),
        edge_index=torch.cat([graph.edge_index + start for graph, start in zip(graphs, first, strict=True)], 1),
        graph=torch.repeat_interleave(torch.arange(len(graphs)), sizes),
        graphs=len(graphs),
    )
    if all(graph.edge_weight is not None for graph in graphs):
        union.edge_weight = torch.cat([graph.edge_weight for graph in graphs])
    return union
