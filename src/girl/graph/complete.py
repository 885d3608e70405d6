r"""The complete graph, in which everyone hears everyone, at a cost linear in the nodes.

Its operators are of rank one but for the diagonal, :math:`z_i \mapsto s\,(\sum_j z_j + c\,z_i)`: the sum over all nodes
is made once, and no edge is written out. A fully-adjacent layer (Alon & Yahav, 2021) is a layer run on it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from girl.errors import InputError
from girl.graph.graph import Graph
from girl.graph.sparse_matrix import Operator


class Everyone(Operator):
    """z ↦ scale · (Σ_j z_j + own · z_i), for all nodes or some rows."""

    def __init__(self, nodes: int, scale: float, own: float, index: Tensor | None = None) -> None:
        self.nodes, self.scale, self.own, self.index = nodes, scale, own, index

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return (self.nodes if self.index is None else self.index.numel()), self.nodes

    def rows(self, index: Tensor) -> Everyone:
        """For some rows only."""
        return Everyone(self.nodes, self.scale, self.own, index)

    def __matmul__(self, z: Tensor) -> Tensor:
        """The product with z (n × k), differentiable."""
        total = z.sum(0, keepdim=True)
        if not self.own:
            return (self.scale * total).expand(self.shape[0], -1)
        return self.scale * (total + self.own * (z if self.index is None else z[self.index]))


class CompleteGraph(Graph):
    """Edges between all pairs of nodes, for the layers that put them together by a mean, a sum or as GCN does."""

    def __init__(self, nodes: int, device: torch.device | str = "cpu") -> None:
        self._nodes, self._device = nodes, torch.device(device)
        self.symmetric, self.weighted = True, False

    @property
    def nodes(self) -> int:
        """N."""
        return self._nodes

    @property
    def device(self) -> torch.device:
        """Where the nodes' rows are."""
        return self._device

    @property
    def mean(self) -> Everyone:
        """The mean over all others; a node alone hears nothing."""
        return Everyone(self.nodes, 1 / (self.nodes - 1) if self.nodes > 1 else 0.0, -1.0)

    @property
    def sum(self) -> Everyone:
        """The sum over all others."""
        return Everyone(self.nodes, 1.0, -1.0)

    @property
    def gcn(self) -> Everyone:
        """Every node counts itself too, and all have n of them: the mean."""
        return Everyone(self.nodes, 1 / self.nodes, 0.0)

    @property
    def looped(self) -> Graph:
        """Not written out."""
        raise InputError("conv: a layer of attention weighs every edge, and a complete graph has n² of them")
