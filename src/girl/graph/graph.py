r"""A graph, with the matrices that message passing multiplies with; each is computed once, when first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from girl.graph.adjacency import build_adjacency
from girl.graph.propagate import propagate
from girl.kernel.sparse import LinearMap, SparseMatrix, csr, filter_entries, index_dtype, submatrix


class MessageGraph:
    """What message-passing layers may ask of a graph. A subclass has only those of the matrices that it supports."""

    num_nodes: int
    device: torch.device
    weighted = False

    if TYPE_CHECKING:  # not at run time: a matrix that a subclass does not define is an AttributeError

        @property
        def sum(self) -> LinearMap: ...
        @property
        def mean(self) -> LinearMap: ...
        @property
        def gcn(self) -> LinearMap: ...
        @property
        def with_self_loops(self) -> Graph: ...

    def propagate(
        self, x: Tensor, teleport: float, steps: int, *, transpose: bool = False, rows: Tensor | None = None
    ) -> Tensor:
        """Personalised PageRank of the columns of x (n × k) with the GCN matrix: see :mod:`girl.graph.propagate`."""
        return propagate(self.gcn, x, teleport, steps, transpose=transpose, rows=rows)


class Graph(MessageGraph):
    """Nodes 0..n-1 and edges j → i, stored as the CSR matrix whose row i holds the in-neighbours j of node i.

    It has no self-loops and no repeated edges: the matrices below add the self-loops they need. Weights, if any, are
    positive: a neighbour of weight w counts as w neighbours of weight 1.
    """

    def __init__(self, adjacency: Tensor, symmetric: bool, weighted: bool = False) -> None:
        self.adjacency = adjacency  # n × n, CSR of weights, or of ones
        self.symmetric, self.weighted = symmetric, weighted
        self.num_nodes, self.device = adjacency.shape[0], adjacency.device
        self.shape = self.num_nodes, self.num_nodes

    @classmethod
    def from_edges(
        cls, edge_index: Tensor, num_nodes: int, directed: bool = False, edge_weight: Tensor | None = None
    ) -> Graph:
        """From edges source → target (2 × m), by the rules of :func:`~girl.graph.adjacency.build_adjacency`."""
        adjacency = build_adjacency(edge_index, num_nodes, directed, edge_weight)
        return cls(adjacency, symmetric=not directed, weighted=edge_weight is not None)

    @cached_property
    def degree(self) -> Tensor:
        """The number of in-neighbours of each node."""
        return self.adjacency.crow_indices().diff()

    @cached_property
    def weighted_degree(self) -> Tensor:
        """The sum of the weights of each node's in-neighbours; their number, if there are no weights."""
        if not self.weighted:
            return self.degree.to(torch.float32)
        return torch.zeros(self.num_nodes, device=self.device).index_add_(0, self.edge_target, self.adjacency.values())

    @cached_property
    def edge_target(self) -> Tensor:
        """The node i of each edge j → i, in the order of the rows."""
        return torch.repeat_interleave(torch.arange(self.num_nodes, device=self.device), self.degree)

    @cached_property
    def with_self_loops(self) -> Graph:
        """The same graph with a self-loop of weight 1 at every node."""
        crow, neighbors = self.adjacency.crow_indices(), self.adjacency.col_indices()
        nodes = torch.arange(self.num_nodes, device=self.device)
        # Row i moves by i entries, and its loop comes after its last neighbour. Columns within a row need no order.
        loops = crow[1:].long() + nodes
        is_neighbor = torch.ones(neighbors.numel() + self.num_nodes, dtype=torch.bool, device=self.device)
        is_neighbor[loops] = False
        col = torch.empty(len(is_neighbor), dtype=index_dtype(len(is_neighbor), self.num_nodes), device=self.device)
        col.masked_scatter_(is_neighbor, neighbors.to(col.dtype))
        col[loops] = nodes.to(col.dtype)
        values = torch.ones(len(is_neighbor), device=self.device)
        if self.weighted:
            values.masked_scatter_(is_neighbor, self.adjacency.values())
        return self._with(csr(torch.cat([loops.new_zeros(1), loops + 1]), col, values, self.shape))

    def _with(self, adjacency: Tensor) -> Graph:
        return Graph(adjacency, self.symmetric, self.weighted)

    @cached_property
    def sum(self) -> SparseMatrix:
        """A: the sum over in-neighbours."""
        return SparseMatrix(self.adjacency, symmetric=self.symmetric)

    @cached_property
    def mean(self) -> SparseMatrix:
        """D⁻¹A: the mean over in-neighbours; zero for a node without any."""
        inverse = torch.where(self.degree > 0, 1 / self.weighted_degree, 0.0)
        matrix = self._scaled(torch.repeat_interleave(inverse, self.degree))
        if not self.symmetric:
            return SparseMatrix(matrix)
        # D⁻¹A is not symmetric even if A is: its transpose AD⁻¹ has the same pattern, with the degree of the source.
        return SparseMatrix(matrix, transpose=self._scaled(inverse.index_select(0, self.adjacency.col_indices())))

    @cached_property
    def gcn(self) -> SparseMatrix:
        r""":math:`\hat D^{-1/2}(A+I)\hat D^{-1/2}`, of Kipf & Welling (2017); degrees include the self-loop."""
        scale = (self.weighted_degree + 1).rsqrt()
        looped = self.with_self_loops
        factor = scale.index_select(0, looped.adjacency.col_indices())
        factor.mul_(torch.repeat_interleave(scale, looped.degree))
        return SparseMatrix(looped._scaled(factor), symmetric=self.symmetric)

    def _scaled(self, factor: Tensor) -> Tensor:
        """The adjacency matrix with each entry multiplied by its factor."""
        values = self.adjacency.values() * factor if self.weighted else factor
        return csr(self.adjacency.crow_indices(), self.adjacency.col_indices(), values, self.shape)

    def sample_neighbors(self, nodes: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One in-neighbour of each of ``nodes``, drawn by its weight; a node without any is its own neighbour."""
        if not self.adjacency.values().numel():
            return nodes
        crow, degree = self.adjacency.crow_indices()[nodes], self.degree[nodes]
        draw = torch.rand(nodes.shape, generator=generator, device=nodes.device, dtype=torch.float64)
        edge = crow + (draw * degree).long()
        if self.weighted:
            before = self._cumulative_weight[crow]
            height = before + draw * (self._cumulative_weight[crow + degree] - before)
            # Rounding may put a height on the border of its row: the edge must stay within it.
            last = crow + (degree - 1).clamp(min=0)
            edge = (torch.searchsorted(self._cumulative_weight, height, right=True) - 1).clamp(crow, last)
        # An isolated node after the last edge must not read beyond the end.
        edge = edge.clamp(max=self.adjacency.values().numel() - 1)
        return torch.where(degree > 0, self.adjacency.col_indices()[edge], nodes)

    @cached_property
    def _cumulative_weight(self) -> Tensor:
        """The sum of all weights before each edge, then the total: one number more than there are edges."""
        sums = self.adjacency.values().double().cumsum(0)
        return torch.cat([sums.new_zeros(1), sums])

    def subgraph(self, nodes: Tensor) -> Graph:
        """The edges among ``nodes``, which are renumbered in their order. Weights stay as they are."""
        return self._with(submatrix(self.adjacency, nodes))

    def drop_edges(self, rate: float, generator: torch.Generator | None = None) -> Graph:
        """Without each edge with probability ``rate``; both directions of an undirected edge are dropped together."""
        count = self.adjacency.values().numel()
        if self.symmetric:
            draw = torch.rand(count // 2, generator=generator, device=self.device)
            return self.select_edges((draw >= rate)[self.undirected_id])
        return self.select_edges(torch.rand(count, generator=generator, device=self.device) >= rate)

    def select_edges(self, mask: Tensor) -> Graph:
        """The edges at which ``mask`` is true; it must be the same for both directions of an undirected edge."""
        return self._with(filter_entries(self.adjacency, mask))

    @cached_property
    def undirected_id(self) -> Tensor:
        """A number for each edge; both directions of an undirected edge have the same."""
        source, target = self.adjacency.col_indices().long(), self.edge_target
        if not self.symmetric:
            return torch.arange(source.numel(), device=self.device)
        low, high = torch.minimum(source, target), torch.maximum(source, target)
        return torch.unique(low * self.num_nodes + high, return_inverse=True)[1]

    @cached_property
    def num_undirected(self) -> int:
        """How many different values :attr:`undirected_id` has."""
        return int(self.undirected_id.max()) + 1 if self.undirected_id.numel() else 0

    def undirected(self) -> Graph:
        """The graph with every edge in both directions, and without weights."""
        return self if self.symmetric and not self.weighted else Graph.from_edges(self.edge_index, self.num_nodes)

    @property
    def edge_index(self) -> Tensor:
        """Edges source → target (2 × m), both directions of an undirected one."""
        return torch.stack([self.adjacency.col_indices().long(), self.edge_target])

    def to(self, device: torch.device | str) -> Graph:
        return self if self.device == torch.device(device) else self._with(self.adjacency.to(device))
