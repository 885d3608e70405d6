r"""A graph in which every node is joined to every other, for the fully-adjacent layer of Alon & Yahav (2021).

Its matrices are of rank one but for the diagonal, :math:`z_i \mapsto s\,(\sum_j z_j + c\,z_i)`: the sum over all nodes
is computed once, and no edge is stored. The cost is linear in the nodes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from girl.errors import InputError
from girl.graph.graph import Graph, MessageGraph


class SumOverAll:
    """The matrix z ↦ scale · (Σ_j z_j + diagonal · z_i), or its rows ``index``."""

    def __init__(self, num_nodes: int, scale: float, diagonal: float, index: Tensor | None = None) -> None:
        self.scale, self.diagonal, self.index = scale, diagonal, index
        self.shape = num_nodes if index is None else index.numel(), num_nodes

    def rows(self, index: Tensor) -> SumOverAll:
        index = index if self.index is None else self.index[index]
        return SumOverAll(self.shape[1], self.scale, self.diagonal, index)

    def __matmul__(self, z: Tensor) -> Tensor:
        total = z.sum(0, keepdim=True)
        if not self.diagonal:
            return (self.scale * total).expand(self.shape[0], -1)
        return self.scale * (total + self.diagonal * (z if self.index is None else z[self.index]))


class FullyAdjacentGraph(MessageGraph):
    """Edges between all pairs of nodes, for layers that take a mean, a sum or the GCN matrix."""

    def __init__(self, num_nodes: int, device: torch.device | str = "cpu") -> None:
        self.num_nodes, self.device = num_nodes, torch.device(device)

    @property
    def sum(self) -> SumOverAll:
        return SumOverAll(self.num_nodes, 1.0, -1.0)  # over all others

    @property
    def mean(self) -> SumOverAll:
        return SumOverAll(self.num_nodes, 1 / (self.num_nodes - 1) if self.num_nodes > 1 else 0.0, -1.0)

    @property
    def gcn(self) -> SumOverAll:
        return SumOverAll(self.num_nodes, 1 / self.num_nodes, 0.0)  # with its self-loop every node has degree n

    @property
    def with_self_loops(self) -> Graph:
        raise InputError("conv: a layer of attention weighs every edge, and a complete graph has n² of them")
