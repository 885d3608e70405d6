"""A list of graphs as one: their disjoint union, which knows whose each node is."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch_geometric.data import Data

from girl.errors import InputError
from girl.graph.adjacency import check_edge_index


def disjoint_union(graphs: Sequence[Data]) -> Data:
    """One ``Data`` with ``x``, ``edge_index``, ``graph`` (n: which graph each node is of) and ``graphs``, their number.

    Weights of edges are kept if all graphs have them. Graphs without nodes are allowed: readouts give them zeros.
    """
    if not len(graphs):
        raise InputError("graphs: given none, expected at least one")
    columns = None
    for index, one in enumerate(graphs):
        if not isinstance(one, Data):
            raise InputError(f"graph {index}: given a {type(one).__name__}, expected a torch_geometric Data")
        if one.x is None or one.x.dim() != 2:
            raise InputError(f"graph {index}: x is missing, expected node features (n × d)")
        columns = one.x.shape[1] if columns is None else columns
        if one.x.shape[1] != columns:
            raise InputError(f"graph {index}: given {one.x.shape[1]} features, expected {columns} as in graph 0")
        try:
            check_edge_index(one.edge_index, one.x.shape[0])
        except InputError as error:
            raise InputError(f"graph {index}: {error}") from error
    sizes = torch.tensor([one.x.shape[0] for one in graphs])
    first = (sizes.cumsum(0) - sizes).tolist()
    dense = [one.x if one.x.layout == torch.strided else one.x.to_dense() for one in graphs]
    found = Data(
        x=torch.cat(dense).float(),
        edge_index=torch.cat([one.edge_index + start for one, start in zip(graphs, first, strict=True)], 1),
        graph=torch.repeat_interleave(torch.arange(len(graphs)), sizes),
        graphs=len(graphs),
    )
    if all(one.edge_weight is not None for one in graphs):
        found.edge_weight = torch.cat([one.edge_weight for one in graphs])
    return found
