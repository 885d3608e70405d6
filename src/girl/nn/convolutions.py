r"""Message-passing layers, each in two steps: the messages of all nodes, then the outputs of chosen nodes.

The steps are separate so that the last layer of a training step can be computed for the drawn rows only, and so that
a large graph can be embedded layer by layer in chunks of nodes. The formulas are those of torch_geometric's layers of
the same names, and the tests hold them to it. What is ours is the order of the products: features, wide and sparse, are
multiplied by the weights before they are propagated; hidden layers are propagated first and multiplied afterwards, so
that a layer needs no second copy of its input and only the wanted rows are multiplied.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch_geometric.utils import scatter, softmax

from girl.graph.graph import MessageGraph
from girl.graph.reweighted import ReweightedMatrix
from girl.kernel.sparse import LinearMap, SparseMatrix, take_rows

Conv = Literal["gcn", "gat", "gatv2", "graphconv", "sage", "gin", "sgc", "appnp", "mlp"]
CONVS = get_args(Conv)
#: Layers of attention, which compute a weight for every edge, in several heads.
ATTENTION = ("gat", "gatv2")

#: The output of another layer, or node features.
Input = Tensor | LinearMap


class Linear(nn.Module):
    r"""x W + b, for dense rows or :class:`~girl.graph.node_features.NodeFeatures`."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__()
        bound = math.sqrt(6 / (inputs + outputs))  # Glorot & Bengio (2010)
        self.weight = nn.Parameter(torch.empty(inputs, outputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None

    def forward(self, x: Input, columns: slice | None = None) -> Tensor:
        """All columns of the result, or some."""
        if columns is None:
            return x @ self.weight if self.bias is None else x @ self.weight + self.bias
        out = x @ self.weight[:, columns]
        return out if self.bias is None else out + self.bias[columns]


def take(x: Tensor, rows: Tensor | None) -> Tensor:
    """The rows ``rows`` of a tensor, or all."""
    return x if rows is None else x[rows]


def take_input(x: Input, rows: Tensor | None) -> Input:
    """The rows ``rows`` of an input, or all."""
    return take(x, rows) if isinstance(x, Tensor) else of_rows(x, rows)


def of_rows(matrix: LinearMap, rows: Tensor | None) -> LinearMap:
    """The rows ``rows`` of a matrix, or all."""
    return matrix if rows is None else matrix.rows(rows)


class Convolution(nn.Module, ABC):
    """One layer. ``forward(x, graph, rows)`` gives the outputs of ``rows`` (all if not given)."""

    linear_first = False
    """Whether hidden layers, too, are multiplied by the weights before they are propagated."""
    propagations = 0
    """Propagations that the messages of a layer have behind them."""

    def __init__(self, inputs: int, outputs: int, bias: bool = False) -> None:
        super().__init__()
        self.linear = Linear(inputs, outputs, bias)

    def passes_on(self, x: Input) -> bool:
        """Whether the messages are the input itself."""
        return isinstance(x, Tensor) and not self.linear_first and not self.propagations

    def sources(self, x: Input, graph: MessageGraph, columns: slice | None = None) -> Tensor:
        """The messages of all nodes (n × k), or some columns of them, which do not depend on the others."""
        if isinstance(x, Tensor) and not self.linear_first:
            return x if columns is None else x[:, columns]
        return self.linear(x, columns)

    @abstractmethod
    def gather(self, sources: Tensor, x: Input, graph: MessageGraph, rows: Tensor | None) -> Tensor:
        """The layer's output for ``rows``, computed from the messages ``sources``."""

    def multiply(self, messages: Tensor, x: Input) -> Tensor:
        """The propagated messages, multiplied by the weights unless they were before."""
        return self.linear(messages) if isinstance(x, Tensor) else messages

    def forward(self, x: Input, graph: MessageGraph, rows: Tensor | None = None) -> Tensor:
        return self.gather(self.sources(x, graph), x, graph, rows)


class GCN(Convolution):
    r""":math:`\hat A^K X W + b`, with :math:`\hat A=\hat D^{-1/2}(A+I)\hat D^{-1/2}`.

    K = 1 is the layer of Kipf & Welling (2017), K > 1 that of Wu et al. (2019), here called ``sgc``.
    """

    def __init__(self, inputs: int, outputs: int, hops: int = 1) -> None:
        super().__init__(inputs, outputs)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.hops, self.propagations = hops, hops - 1

    def sources(self, x: Input, graph: MessageGraph, columns: slice | None = None) -> Tensor:
        z = super().sources(x, graph, columns)
        for _ in range(self.propagations):
            z = graph.gcn @ z
        return z

    def gather(self, sources: Tensor, x: Input, graph: MessageGraph, rows: Tensor | None) -> Tensor:
        return self.multiply(of_rows(graph.gcn, rows) @ sources, x) + self.bias


class APPNP(Convolution):
    r""":math:`\Pi X W + b`, with :math:`\Pi` K steps of personalised PageRank (Gasteiger et al., 2019)."""

    def __init__(self, inputs: int, outputs: int, hops: int = 10, teleport: float = 0.1) -> None:
        super().__init__(inputs, outputs)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.hops = self.propagations = hops
        self.teleport = teleport

    def sources(self, x: Input, graph: MessageGraph, columns: slice | None = None) -> Tensor:
        return graph.propagate(super().sources(x, graph, columns), self.teleport, self.hops)

    def gather(self, sources: Tensor, x: Input, graph: MessageGraph, rows: Tensor | None) -> Tensor:
        return self.multiply(take(sources, rows), x) + self.bias

    def forward(self, x: Input, graph: MessageGraph, rows: Tensor | None = None) -> Tensor:
        # In one call, the last step is computed for the wanted rows only.
        messages = graph.propagate(super().sources(x, graph), self.teleport, self.hops, rows=rows)
        return self.multiply(messages, x) + self.bias


class MLP(Convolution):
    r""":math:`X W + b`: a layer without messages, for graphs whose edges carry little information."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=True)

    def gather(self, sources: Tensor, x: Input, graph: MessageGraph, rows: Tensor | None) -> Tensor:
        return self.multiply(take(sources, rows), x)


class SAGE(Convolution):
    r""":math:`D^{-1}A X W_n + X W_r + b` (Hamilton et al., 2017): the mean of the neighbours, and the node itself."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        self.root = Linear(inputs, outputs)

    def aggregation(self, graph: MessageGraph) -> LinearMap:
        """The matrix that aggregates the neighbours' messages."""
        return graph.mean

    def gather(self, sources: Tensor, x: Input, graph: MessageGraph, rows: Tensor | None) -> Tensor:
        messages = of_rows(self.aggregation(graph), rows) @ sources
        return self.multiply(messages, x) + self.root(take_input(x, rows))


class GraphConv(SAGE):
    r""":math:`A X W_n + X W_r + b` (Morris et al., 2019): as SAGE, with the sum of the neighbours."""

    def aggregation(self, graph: MessageGraph) -> LinearMap:
        return graph.sum


class GIN(Convolution):
    r""":math:`\mathrm{MLP}((1+\epsilon)X + AX)` (Xu et al., 2019), with a two-layer perceptron and a learned ε.

    The first layer of the perceptron is linear, so it is applied before the sum: a sparse input stays sparse.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.second = Linear(outputs, outputs)
        self.epsilon = nn.Parameter(torch.zeros(()))

    def gather(self, sources: Tensor, x: Input, graph: MessageGraph, rows: Tensor | None) -> Tensor:
        messages = of_rows(graph.sum, rows) @ sources + (1 + self.epsilon) * take(sources, rows)
        return self.second((self.multiply(messages, x) + self.bias).relu())


class Attention(Convolution):
    """A layer that weighs the messages of the neighbours and of the node itself, in several heads.

    Heads share the width: each has ``outputs / heads`` columns, side by side. Edge weights multiply the attention
    before it is normalised to a sum of one.
    """

    linear_first = True

    def __init__(self, inputs: int, outputs: int, heads: int = 4, bias: bool = False) -> None:
        if outputs % heads:
            raise ValueError(f"hidden: given {outputs}, expected a multiple of heads = {heads}")
        super().__init__(inputs, outputs, bias)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.heads, self.width = heads, outputs // heads

    def score_weight(self) -> nn.Parameter:
        """Weights (heads × c) that make scores of messages."""
        bound = math.sqrt(6 / (self.width + 1))
        return nn.Parameter(torch.empty(self.heads, self.width).uniform_(-bound, bound))

    def edges(self, graph: MessageGraph, rows: Tensor | None) -> tuple[Tensor, Tensor]:
        """The adjacency matrix with self-loops, or some of its rows, and the row of each edge."""
        edges = graph.with_self_loops.adjacency
        edges = edges if rows is None else take_rows(edges, rows)
        row = torch.arange(edges.shape[0], device=graph.device)
        return edges, torch.repeat_interleave(row, edges.crow_indices().diff())

    def normalize(self, score: Tensor, edges: Tensor, target: Tensor, graph: MessageGraph) -> Tensor:
        """The softmax of scores (edges × heads) over the edges into each node, times the edge weights."""
        if graph.weighted:
            score = score + edges.values().log().unsqueeze(1)
        return softmax(score, target, num_nodes=edges.shape[0])


class GAT(Attention):
    r"""Attention of Veličković et al. (2018) over the neighbours and the node itself.

    .. math::
        \alpha_{ij} = \mathrm{softmax}_j\; \mathrm{LeakyReLU}(a_t^\top X_i W + a_s^\top X_j W), \qquad
        H_i = \sum_j \alpha_{ij} X_j W + b

    A node's scores as source and as target are one number each for a head, so that nothing as wide as a layer is
    stored for each edge.
    """

    def __init__(self, inputs: int, outputs: int, heads: int = 4) -> None:
        super().__init__(inputs, outputs, heads)
        self.source_score, self.target_score = self.score_weight(), self.score_weight()

    def gather(self, sources: Tensor, x: Input, graph: MessageGraph, rows: Tensor | None) -> Tensor:
        edges, target = self.edges(graph, rows)
        messages = sources.unflatten(1, (self.heads, self.width))
        source_score = (messages * self.source_score).sum(-1)[edges.col_indices()]
        target_score = (take(messages, rows) * self.target_score).sum(-1)[target]
        score = nn.functional.leaky_relu(source_score + target_score, 0.2)
        heads = zip(self.normalize(score, edges, target, graph).unbind(1), messages.unbind(1), strict=True)
        ones = SparseMatrix(edges).with_values(torch.ones_like(edges.values()))
        return torch.cat([ReweightedMatrix(ones, attention) @ message for attention, message in heads], 1) + self.bias


class GATv2(Attention):
    r"""Attention of Brody et al. (2022) over the neighbours and the node itself.

    .. math::
        \alpha_{ij} = \mathrm{softmax}_j\; a^\top \mathrm{LeakyReLU}(X_i W_t + X_j W_s), \qquad
        H_i = \sum_j \alpha_{ij} X_j W_s + b
    """

    def __init__(self, inputs: int, outputs: int, heads: int = 4) -> None:
        super().__init__(inputs, outputs, heads, bias=True)
        self.target = Linear(inputs, outputs)
        self.attention = self.score_weight()

    def gather(self, sources: Tensor, x: Input, graph: MessageGraph, rows: Tensor | None) -> Tensor:
        edges, target = self.edges(graph, rows)
        shape = (-1, self.heads, self.width)
        messages = sources[edges.col_indices()].view(shape)  # edges × heads × c
        receivers = self.target(take_input(x, rows)).view(shape)[target]
        score = (nn.functional.leaky_relu(messages + receivers, 0.2) * self.attention).sum(-1)
        weighted = messages * self.normalize(score, edges, target, graph).unsqueeze(-1)
        return scatter(weighted, target, dim=0, dim_size=edges.shape[0], reduce="sum").flatten(1) + self.bias


def convolution(conv: Conv, inputs: int, outputs: int, heads: int, hops: int, teleport: float) -> Convolution:
    """A layer by its name."""
    if conv == "appnp":
        return APPNP(inputs, outputs, hops, teleport)
    if conv in ATTENTION:
        return {"gat": GAT, "gatv2": GATv2}[conv](inputs, outputs, heads)
    if conv == "sgc":
        return GCN(inputs, outputs, hops)
    return {"gcn": GCN, "mlp": MLP, "sage": SAGE, "graphconv": GraphConv, "gin": GIN}[conv](inputs, outputs)
