r"""A graph as the operators that message passing needs, each made once, when first asked for."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from girl.errors import InputError
from girl.graph.sparse_matrix import Operator, WeighedOperator, take_rows
from girl.kernel.sparse import csr


def check_edges(edge_index: Tensor | None, nodes: int) -> None:
    """Complain about edges that are not there, or that lead to nowhere."""
    if edge_index is None:
        raise InputError("edge_index: the graph has no edges, expected a 2 × m matrix, empty if there are none")
    if edge_index.numel():
        for end in (int(edge_index.min()), int(edge_index.max())):
            if not 0 <= end < nodes:
                raise InputError(f"edge_index: given node {end}, expected 0 to {nodes - 1}")


def index_type(*sizes: int) -> torch.dtype:
    """Of the places in a matrix with these many rows, columns and entries: 32 bits where they do, half the memory."""
    return torch.int32 if max(sizes) < 2**31 else torch.int64


def _places(edge_index: Tensor, nodes: int, directed: bool) -> Tensor:
    """The adjacency matrix of edges on the CPU, by counting, which is faster than sorting them and needs less."""
    source, target = edge_index.numpy()
    if (loops := source == target).any():
        source, target = source[~loops], target[~loops]
    kind = np.int32 if index_type(len(source), nodes) == torch.int32 else np.int64
    ends = target.astype(kind, copy=False), source.astype(kind, copy=False)
    found = scipy.sparse.csr_matrix((np.ones(len(source), np.int8), ends), shape=(nodes, nodes))
    del loops, source, target, ends
    found.data[:] = 1  # edges given twice were added up
    if not directed:
        turned = found.T.tocsr()
        if not (np.array_equal(turned.indptr, found.indptr) and np.array_equal(turned.indices, found.indices)):
            found = found.maximum(turned)
        del turned
    values = torch.ones(found.nnz)
    return csr(torch.from_numpy(found.indptr), torch.from_numpy(found.indices), values, (nodes, nodes))


class Graph:
    """Nodes 0..n-1 and edges j → i, kept as the CSR matrix whose row i holds the in-neighbours j of node i.

    Self-loops are dropped and multiple edges count once: every operator below adds the loops it needs. Weights, if any,
    are positive: a neighbour of weight w is heard as w neighbours of weight 1 would be.
    """

    def __init__(self, adjacency: Tensor, symmetric: bool, weighted: bool = False) -> None:
        self.adjacency = adjacency  # n × n, CSR of weights, or of ones
        self.symmetric = symmetric
        self.weighted = weighted

    @classmethod
    def from_edges(cls, edge_index: Tensor, nodes: int, directed: bool = False, weight: Tensor | None = None) -> Graph:
        """From edges source → target (2 × m). Unless ``directed``, each edge is used both ways.

        ``weight`` (m) is divided by its mean, so that its unit does not matter beside the loops of weight 1. Of several
        weights of one edge the largest counts.
        """
        if weight is None and edge_index.device.type == "cpu":
            return cls(_places(edge_index, nodes, directed), symmetric=not directed)
        source, target = edge_index[0], edge_index[1]
        if not directed:
            source, target = torch.cat([source, target]), torch.cat([target, source])
        keep = source != target
        place = target[keep] * nodes + source[keep]
        if weight is None:
            place = torch.unique(place)
            values = torch.ones(place.numel(), device=place.device)
        else:
            place, inverse = torch.unique(place, return_inverse=True)
            found = (weight if directed else torch.cat([weight, weight]))[keep].to(torch.float32)
            values = found.new_zeros(place.numel()).scatter_reduce_(0, inverse, found, "amax")
            values = values / values.mean().clamp(min=1e-30)
        count = torch.bincount(place // max(nodes, 1), minlength=nodes)
        crow = torch.cat([count.new_zeros(1), count.cumsum(0)])
        col = (place % max(nodes, 1)).to(index_type(place.numel(), nodes))
        return cls(csr(crow, col, values, (nodes, nodes)), symmetric=not directed, weighted=weight is not None)

    @property
    def nodes(self) -> int:
        """N."""
        return self.adjacency.shape[0]

    @property
    def shape(self) -> tuple[int, int]:
        """N and n."""
        return self.nodes, self.nodes

    @property
    def device(self) -> torch.device:
        """Where the graph is."""
        return self.adjacency.device

    @cached_property
    def degree(self) -> Tensor:
        """The number of in-neighbours of each node."""
        return self.adjacency.crow_indices().diff()

    @cached_property
    def strength(self) -> Tensor:
        """The sum of the weights of each node's in-neighbours: their number, if there are no weights."""
        if not self.weighted:
            return self.degree.to(torch.float32)
        return torch.zeros(self.nodes, device=self.device).index_add_(0, self.target, self.adjacency.values())

    @cached_property
    def target(self) -> Tensor:
        """The node i of each edge j → i, in the order of the rows."""
        return torch.repeat_interleave(torch.arange(self.nodes, device=self.device), self.degree)

    @cached_property
    def looped(self) -> Graph:
        """The same graph with a loop at every node, for operators that let a node hear itself."""
        crow, known = self.adjacency.crow_indices(), self.adjacency.col_indices()
        place = torch.arange(self.nodes, device=self.device)
        # Row i moves down by i entries, and its loop takes the place behind its last neighbour. Columns within a row
        # need no order.
        loops = crow[1:].long() + place
        heard = torch.ones(known.numel() + self.nodes, dtype=torch.bool, device=self.device)
        heard[loops] = False
        col = torch.empty(len(heard), dtype=index_type(len(heard), self.nodes), device=self.device)
        col.masked_scatter_(heard, known.to(col.dtype))
        col[loops] = place.to(col.dtype)
        values = torch.ones(len(heard), device=self.device)
        if self.weighted:
            values.masked_scatter_(heard, self.adjacency.values())
        new = torch.cat([loops.new_zeros(1), loops + 1])
        return Graph(csr(new, col, values, self.shape), self.symmetric, self.weighted)

    @cached_property
    def sum(self) -> Operator:
        """A: the sum over in-neighbours."""
        return Operator.of(self.adjacency, self.symmetric)

    @cached_property
    def mean(self) -> Operator:
        """D⁻¹A: the mean over in-neighbours; a node without any hears nothing."""
        share = torch.where(self.degree > 0, 1 / self.strength, 0.0)
        # D⁻¹A is not symmetric even if A is: its transpose AD⁻¹ has the same places, with the source's share.
        matrix = self._scaled(torch.repeat_interleave(share, self.degree))
        if not self.symmetric:
            return Operator.of(matrix)
        return Operator(matrix, self._scaled(share.index_select(0, self.adjacency.col_indices())))

    @cached_property
    def gcn(self) -> Operator:
        r""":math:`\hat D^{-1/2}(A+I)\hat D^{-1/2}`, of Kipf & Welling (2017); degrees count the loop."""
        scale = (self.strength + 1).rsqrt()
        looped = self.looped
        factor = scale.index_select(0, looped.adjacency.col_indices())
        return Operator.of(looped._scaled(factor.mul_(torch.repeat_interleave(scale, looped.degree))), self.symmetric)

    def _scaled(self, factor: Tensor) -> Tensor:
        """The adjacency matrix with each entry multiplied by its factor."""
        values = self.adjacency.values() * factor if self.weighted else factor
        return csr(self.adjacency.crow_indices(), self.adjacency.col_indices(), values, self.shape)

    def smooth(
        self, x: Tensor, teleport: float, steps: int, turned: bool = False, rows: Tensor | None = None
    ) -> Tensor:
        r"""Personalised PageRank of the columns of x (n × k), by power iteration on the GCN operator Â.

        .. math:: z \leftarrow (1-\alpha)\,\hat A z + \alpha x, \qquad z \to \alpha\,(I-(1-\alpha)\hat A)^{-1}x

        ``turned`` gives the product with the transpose of that matrix instead; ``rows``, some rows of the result.
        """
        return self.gcn.diffuse(x, teleport, steps, turned, rows)

    def neighbours(self, nodes: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """For each of ``nodes`` one in-neighbour, drawn by its weight; a node without any is its own."""
        crow, degree = self.adjacency.crow_indices()[nodes], self.degree[nodes]
        draw = torch.rand(nodes.shape, generator=generator, device=nodes.device, dtype=torch.float64)
        place = crow + (draw * degree).long()
        if self.weighted:
            before = self._heights[crow]
            height = before + draw * (self._heights[crow + degree] - before)
            # Rounding may put a height on the border of its row: the place must stay within it.
            last = crow + (degree - 1).clamp(min=0)
            place = (torch.searchsorted(self._heights, height, right=True) - 1).clamp(crow, last)
        # Edges end where the last row ends: an isolated node past it must not read beyond.
        place = place.clamp(max=max(self.adjacency.values().numel() - 1, 0))
        if not self.adjacency.values().numel():
            return nodes
        return torch.where(degree > 0, self.adjacency.col_indices()[place], nodes)

    @cached_property
    def _heights(self) -> Tensor:
        """The sum of all weights before each edge, and of all: 1 more than there are edges."""
        sums = self.adjacency.values().double().cumsum(0)
        return torch.cat([sums.new_zeros(1), sums])

    def subgraph(self, nodes: Tensor) -> Graph:
        """The graph among ``nodes``, which are numbered anew in their order; its weights are as they were."""
        part = Operator.of(self.adjacency, True).submatrix(nodes).matrix
        return Graph(part, self.symmetric, self.weighted)

    def drop_edges(self, share: float, generator: torch.Generator | None = None) -> Graph:
        """Without a random ``share`` of the edges; both directions of an undirected edge go together."""
        source = self.adjacency.col_indices()
        if self.symmetric:
            draw = torch.rand(source.numel() // 2, generator=generator, device=self.device)
            keep = (draw >= share)[self.pair]
        else:
            keep = torch.rand(source.numel(), generator=generator, device=self.device) >= share
        return self.with_edges(keep)

    def with_edges(self, keep: Tensor) -> Graph:
        """With some of the edges only; a mask over them, of both directions of an undirected one alike."""
        crow = torch.cat([keep.new_zeros(1, dtype=torch.long), keep.long().cumsum(0)])[self.adjacency.crow_indices()]
        kept = csr(crow, self.adjacency.col_indices()[keep], self.adjacency.values()[keep], self.shape)
        return Graph(kept, self.symmetric, self.weighted)

    @cached_property
    def pair(self) -> Tensor:
        """For each edge the number of its pair of nodes: both directions of an undirected edge share one."""
        source, target = self.adjacency.col_indices().long(), self.target
        if not self.symmetric:
            return torch.arange(source.numel(), device=self.device)
        low, high = torch.minimum(source, target), torch.maximum(source, target)
        return torch.unique(low * self.nodes + high, return_inverse=True)[1]

    @cached_property
    def pairs(self) -> int:
        """How many pairs of nodes there are."""
        return int(self.pair.max()) + 1 if self.pair.numel() else 0

    def rows(self, nodes: Tensor) -> Tensor:
        """The rows ``nodes`` of the adjacency matrix: their in-neighbours."""
        return take_rows(self.adjacency, nodes)

    @property
    def edge_index(self) -> Tensor:
        """Edges source → target (2 × m), each direction of an undirected one."""
        return torch.stack([self.adjacency.col_indices().long(), self.target])

    def to(self, device: torch.device | str) -> Graph:
        """The graph on another device."""
        if self.device == torch.device(device):
            return self
        return Graph(self.adjacency.to(device), self.symmetric, self.weighted)


class WeighedGraph(Graph):
    """A graph whose GCN operator has further weights at its entries, through which gradients flow."""

    def __init__(self, graph: Graph, weight: Tensor) -> None:
        super().__init__(graph.adjacency, graph.symmetric, graph.weighted)
        self._whole, self._weight = graph, weight

    @cached_property
    def gcn(self) -> Operator:
        """As that of the graph, weighed after it was normalised."""
        return WeighedOperator(self._whole.gcn, self._weight)
