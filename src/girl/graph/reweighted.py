"""Matrices, graphs and features with learned weights at their entries, edges and columns.

Each class has only the operations that take the weights into account.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from girl.graph.graph import Graph, MessageGraph
from girl.kernel.sparse import LinearMap, SparseMatrix, entries_of_rows

#: Entries whose weight gradients are computed at a time.
ENTRIES = 1 << 16


class ReweightedMatrix:
    """A ∘ W (n × m): a constant sparse matrix A with a weight at each stored entry.

    Products are differentiable in the weights too. If A is symmetric, the weights must be.
    """

    def __init__(self, matrix: SparseMatrix, weight: Tensor) -> None:
        self.matrix, self.weight = matrix, weight
        self.shape = matrix.shape

    def __matmul__(self, z: Tensor) -> Tensor:
        """(A ∘ W) z (n × k)."""
        return _Product.apply(z, self.weight, self.matrix)

    def rows(self, index: Tensor) -> ReweightedMatrix:
        """The rows ``index``, with their weights."""
        entries, _ = entries_of_rows(self.matrix.tensor, index)
        return ReweightedMatrix(self.matrix.rows(index), self.weight[entries])


class _Product(torch.autograd.Function):
    """The gradient of the weight at (i, j) is A_ij gᵢ·z_j, computed for some entries at a time."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, weight: Tensor, matrix: SparseMatrix) -> Tensor:
        ctx.save_for_backward(z, weight)
        ctx.matrix = matrix
        return matrix.with_values(matrix.values * weight).product(z)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        z, weight = ctx.saved_tensors
        matrix: SparseMatrix = ctx.matrix
        z_grad = weight_grad = None
        if ctx.needs_input_grad[0]:
            z_grad = matrix.with_values(matrix.values * weight).product(grads[0], transpose=True)
        if ctx.needs_input_grad[1]:
            crow, col = matrix.tensor.crow_indices(), matrix.tensor.col_indices()
            row = torch.repeat_interleave(torch.arange(len(crow) - 1, device=col.device), crow.diff())
            weight_grad = torch.empty_like(weight)
            for start in range(0, len(col), ENTRIES):
                part = slice(start, start + ENTRIES)
                torch.linalg.vecdot(grads[0][row[part]], z[col[part]], out=weight_grad[part])
            weight_grad *= matrix.values
        return z_grad, weight_grad, None


class ReweightedGraph(MessageGraph):
    """A graph whose GCN matrix has a weight at each entry (edges and self-loops), applied after its normalisation."""

    def __init__(self, graph: Graph, weight: Tensor) -> None:
        self.num_nodes, self.device = graph.num_nodes, graph.device
        self._gcn = ReweightedMatrix(graph.gcn, weight)

    @property
    def gcn(self) -> ReweightedMatrix:
        return self._gcn


class ReweightedFeatures:
    """Features X (n × d) with a weight w for each column: X diag(w). Products are differentiable in the weights too."""

    def __init__(self, features: LinearMap, weight: Tensor) -> None:
        self._features, self._weight = features, weight
        self.shape = features.shape

    def __matmul__(self, z: Tensor) -> Tensor:
        return self._features @ (self._weight.unsqueeze(1) * z)

    def rows(self, index: Tensor) -> ReweightedFeatures:
        return ReweightedFeatures(self._features.rows(index), self._weight)
