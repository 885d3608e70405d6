r"""A graph in which every node is joined to every other, for the fully-adjacent layer of Alon & Yahav (2021).

Its matrices are of rank one but for the diagonal, :math:`z_i \mapsto s\,(\sum_j z_j + c\,z_i)`: the sum over all nodes
is computed once, and no edge is stored. The cost is linear in the nodes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from girl.errors import InputError
from girl.graph.graph import Graph
from girl.graph.message_graph import MessageGraph


class SumOverAll:
    """The matrix z ↦ scale · (Σ_j z_j + diagonal · z_i), for all rows or for those of ``index``."""

    def __init__(self, num_nodes: int, scale: float, diagonal: float, index: Tensor | None = None) -> None:
        self.num_nodes, self.scale, self.diagonal, self.index = num_nodes, scale, diagonal, index

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return (self.num_nodes if self.index is None else self.index.numel()), self.num_nodes

    def rows(self, index: Tensor) -> SumOverAll:
        """The rows ``index``."""
        return SumOverAll(self.num_nodes, self.scale, self.diagonal, index if self.index is None else self.index[index])

    def __matmul__(self, z: Tensor) -> Tensor:
        """The product with z (n × k), differentiable."""
        total = z.sum(0, keepdim=True)
        if not self.diagonal:
            return (self.scale * total).expand(self.shape[0], -1)
        return self.scale * (total + self.diagonal * (z if self.index is None else z[self.index]))


class FullyAdjacentGraph(MessageGraph):
    """Edges between all pairs of nodes, for layers that take a mean, a sum or the GCN matrix."""

    def __init__(self, num_nodes: int, device: torch.device | str = "cpu") -> None:
        self._num_nodes, self._device = num_nodes, torch.device(device)

    @property
    def num_nodes(self) -> int:
        """N."""
        return self._num_nodes

    @property
    def device(self) -> torch.device:
        """The device of the nodes' rows."""
        return self._device

    @property
    def mean(self) -> SumOverAll:
        """The mean over all other nodes; zero if there are none."""
        return SumOverAll(self.num_nodes, 1 / (self.num_nodes - 1) if self.num_nodes > 1 else 0.0, -1.0)

    @property
    def sum(self) -> SumOverAll:
        """The sum over all other nodes."""
        return SumOverAll(self.num_nodes, 1.0, -1.0)

    @property
    def gcn(self) -> SumOverAll:
        """The mean over all nodes: with its self-loop every node has degree n."""
        return SumOverAll(self.num_nodes, 1 / self.num_nodes, 0.0)

    @property
    def with_self_loops(self) -> Graph:
        """Attention would need every edge."""
        raise InputError("conv: a layer of attention weighs every edge, and a complete graph has n² of them")
