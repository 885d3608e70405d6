"""METIS clusters: parts of a graph with few edges between them, so that a batch of parts is a graph of its own."""

from __future__ import annotations

import pymetis
import torch
from torch import Tensor

from girl.errors import InputError
from girl.nn.graph import Graph


def partition(graph: Graph, parts: int, seed: int = 0) -> Tensor:
    """The part (0..parts-1) of each node, by METIS. Parts are about equal in size; none is empty.

    METIS wants an undirected graph: direction is ignored here, and only here. A graph of fewer nodes than ``parts``
    falls into its nodes.
    """
    n = graph.nodes
    if parts < 1:
        raise InputError(f"clusters: given {parts}, expected at least 1")
    if parts >= n:
        return torch.arange(n)
    if parts == 1:
        return torch.zeros(n, dtype=torch.long)
    both = graph if graph.symmetric else Graph.from_edges(graph.edge_index, n)
    if not both.adjacency.values().numel():
        # Without an edge any even cut is a best one; METIS refuses such a graph.
        return torch.arange(n) * parts // n
    crow, col = both.adjacency.crow_indices().cpu().numpy(), both.adjacency.col_indices().cpu().numpy()
    _, membership = pymetis.part_graph(parts, pymetis.CSRAdjacency(crow, col), options=pymetis.Options(seed=seed))
    # METIS may leave parts empty on small or odd graphs: the others are numbered without gaps.
    return torch.unique(torch.as_tensor(membership, dtype=torch.long), return_inverse=True)[1]


def members(part: Tensor) -> list[Tensor]:
    """The nodes of each part, in order."""
    order = part.argsort(stable=True)
    return list(order.split(torch.bincount(part).tolist()))
