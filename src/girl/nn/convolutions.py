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

from girl.graph.message_graph import MessageGraph
from girl.graph.reweighted import ReweightedMatrix
from girl.kernel.sparse import LinearMap, SparseMatrix

Conv = Literal["gcn", "gat", "gatv2", "graphconv", "sage", "gin", "sgc", "appnp", "mlp"]
CONVS = get_args(Conv)
#: Layers of attention, which compute a weight for every edge, in several heads.
ATTENTION = ("gat", "gatv2")

#: The output of another layer, or node features.
Input = Tensor | LinearMap


class Linear(nn.Module):
    r"""x W + b, for dense rows or :class:`~girl.graph.node_features.Features`."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__()
        bound = math.sqrt(6 / (inputs + outputs))  # Glorot & Bengio (2010)
        self.weight = nn.Parameter(torch.empty(inputs, outputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None

    def forward(self, x: Input, columns: slice | None = None) -> Tensor:
        """All columns of the result, or those of ``columns``."""
        if columns is None:
            out = x @ self.weight
            return out if self.bias is None else out + self.bias
        out = x @ self.weight[:, columns]
        return out if self.bias is None else out + self.bias[columns]


def take(x: Input, rows: Tensor | None) -> Input:
    """The rows ``rows`` of an input, or all."""
    if rows is None:
        return x
    return x[rows] if isinstance(x, Tensor) else x.rows(rows)


def of_rows(matrix: LinearMap, rows: Tensor | None) -> LinearMap:
    """The rows ``rows`` of a matrix, or all."""
    return matrix if rows is None else matrix.rows(rows)


def apply_before(linear: Linear, x: Input, columns: slice | None = None) -> Tensor:
    """Features are multiplied by the weights before they are propagated; the output of a layer is not."""
    if not isinstance(x, Tensor):
        return linear(x, columns)
    return x if columns is None else x[:, columns]


def apply_after(linear: Linear, x: Input, messages: Tensor) -> Tensor:
    """The propagated messages multiplied by the weights, unless :func:`apply_before` did so."""
    return linear(messages) if isinstance(x, Tensor) else messages


class Convolution(nn.Module, ABC):
    """One layer. ``forward(x, graph, rows)`` gives the outputs of ``rows`` (all if not given)."""

    @abstractmethod
    def sources(self, x: Input, graph: MessageGraph, columns: slice | None = None) -> Tensor:
        """The messages of all nodes (n × k), or some columns of them, which do not depend on the others."""

    def passes_on(self, x: Input) -> bool:
        """Whether the messages are the input itself."""
        return isinstance(x, Tensor)

    @abstractmethod
    def gather(self, sources: Tensor, x: Input, graph: MessageGraph, rows: Tensor | None) -> Tensor:
        """The layer's output for ``rows``, computed from the messages ``sources``."""

    def forward(self, x: Input, graph: MessageGraph, rows: Tensor | None = None) -> Tensor:
        return self.gather(self.sources(x, graph), x, graph, rows)


class GCN(Convolution):
    r""":math:`\hat A^K X W + b`, with :math:`\hat A=\hat D^{-1/2}(A+I)\hat D^{-1/2}`.

    K = 1 is the layer of Kipf & Welling (2017), K > 1 that of Wu et al. (2019), here called ``sgc``.
    """

    def __init__(self, inputs: int, outputs: int, hops: int = 1) -> None:
        super().__init__()
        self.linear = Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.hops = hops

    def sources(self, x: Input, graph: MessageGraph, columns: slice | None = None) -> Tensor:
        z = apply_before(self.linear, x, columns)
        for _ in range(self.hops - 1):
            z = graph.gcn @ z
        return z

    def passes_on(self, x: Input) -> bool:
        return isinstance(x, Tensor) and self.hops == 1

    def gather(self, sources: Tensor, x: Input, graph: MessageGraph, rows: Tensor | None) -> Tensor:
        return apply_after(self.linear, x, of_rows(graph.gcn, rows) @ sources) + self.bias


class APPNP(Convolution):
    r""":math:`\Pi X W + b`, with :math:`\Pi` K steps of personalised PageRank (Gasteiger et al., 2019)."""

    def __init__(self, inputs: int, outputs: int, hops: int = 10, teleport: float = 0.1) -> None:
        super().__init__()
        self.linear = Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.hops, self.teleport = hops, teleport

    def sources(self, x: Input, graph: MessageGraph, columns: slice | None = None) -> Tensor:
        return graph.propagate(apply_before(self.linear, x, columns), self.teleport, self.hops)

    def passes_on(self, x: Input) -> bool:
        return False

    def gather(self, sources: Tensor, x: Input, graph: MessageGraph, rows: Tensor | None) -> Tensor:
        return apply_after(self.linear, x, sources if rows is None else sources[rows]) + self.bias

    def forward(self, x: Input, graph: MessageGraph, rows: Tensor | None = None) -> Tensor:
        # In one call, the last step is computed for the wanted rows only.
        messages = graph.propagate(apply_before(self.linear, x), self.teleport, self.hops, rows=rows)
        return apply_after(self.linear, x, messages) + self.bias


class MLP(Convolution):
    r""":math:`X W + b`: a layer without messages, for graphs whose edges carry little information."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = Linear(inputs, outputs)

    def sources(self, x: Input, graph: MessageGraph, columns: slice | None = None) -> Tensor:
        return apply_before(self.linear, x, columns)

    def gather(self, sources: Tensor, x: Input, graph: MessageGraph, rows: Tensor | None) -> Tensor:
        return apply_after(self.linear, x, sources if rows is None else sources[rows])


class SAGE(Convolution):
    r""":math:`D^{-1}A X W_n + X W_r + b` (Hamilton et al., 2017): the mean of the neighbours, and the node itself."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.neighbors = Linear(inputs, outputs, bias=False)
        self.root = Linear(inputs, outputs)

    def aggregation(self, graph: MessageGraph) -> LinearMap:
        """The matrix that aggregates the neighbours' messages."""
        return graph.mean

    def sources(self, x: Input, graph: MessageGraph, columns: slice | None = None) -> Tensor:
        return apply_before(self.neighbors, x, columns)

    def gather(self, sources: Tensor, x: Input, graph: MessageGraph, rows: Tensor | None) -> Tensor:
        messages = of_rows(self.aggregation(graph), rows) @ sources
        return apply_after(self.neighbors, x, messages) + self.root(take(x, rows))


class GraphConv(SAGE):
    r""":math:`A X W_n + X W_r + b` (Morris et al., 2019): as SAGE, with the sum of the neighbours."""

    def aggregation(self, graph: MessageGraph) -> LinearMap:
        return graph.sum


class GIN(Convolution):
    r""":math:`\mathrm{MLP}((1+\epsilon)X + AX)` (Xu et al., 2019), with a two-layer perceptron and a learned ε.

    The first layer of the perceptron is linear, so it is applied before the sum: a sparse input stays sparse.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.second = Linear(outputs, outputs)
        self.epsilon = nn.Parameter(torch.zeros(()))

    def sources(self, x: Input, graph: MessageGraph, columns: slice | None = None) -> Tensor:
        return apply_before(self.first, x, columns)

    def gather(self, sources: Tensor, x: Input, graph: MessageGraph, rows: Tensor | None) -> Tensor:
        root = sources if rows is None else sources[rows]
        messages = of_rows(graph.sum, rows) @ sources + (1 + self.epsilon) * root
        return self.second((apply_after(self.first, x, messages) + self.bias).relu())


class GAT(Convolution):
    r"""Attention of Veličković et al. (2018) over the neighbours and the node itself.

    .. math::
        \alpha_{ij} = \mathrm{softmax}_j\; \mathrm{LeakyReLU}(a_t^\top X_i W + a_s^\top X_j W), \qquad
        H_i = \sum_j \alpha_{ij} X_j W + b

    Heads share the width, and edge weights count, as in :class:`GATv2`. A node's scores as source and as target are one
    number each for a head, so that nothing as wide as a layer is stored for each edge.
    """

    def __init__(self, inputs: int, outputs: int, heads: int = 4) -> None:
        super().__init__()
        _check_heads(outputs, heads)
        self.linear = Linear(inputs, outputs, bias=False)
        self.source_score, self.target_score = (_attention(heads, outputs // heads) for _ in range(2))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def sources(self, x: Input, graph: MessageGraph, columns: slice | None = None) -> Tensor:
        messages: Tensor = self.linear(x, columns)
        return messages

    def passes_on(self, x: Input) -> bool:
        return False

    def gather(self, sources: Tensor, x: Input, graph: MessageGraph, rows: Tensor | None) -> Tensor:
        edges = _edges(graph, rows)
        n, heads = edges.shape[0], len(self.source_score)
        target = torch.repeat_interleave(torch.arange(n, device=sources.device), edges.crow_indices().diff())
        split = sources.unflatten(1, (heads, -1))  # n × heads × c
        source_score = (split * self.source_score).sum(-1)
        target_score = ((split if rows is None else split[rows]) * self.target_score).sum(-1)
        score = nn.functional.leaky_relu(source_score[edges.col_indices()] + target_score[target], 0.2)
        attention = _attention_weights(score, target, edges, graph)
        ones = SparseMatrix(edges).with_values(torch.ones_like(edges.values()))
        messages = [
            ReweightedMatrix(ones, weight) @ part
            for weight, part in zip(attention.unbind(1), split.unbind(1), strict=True)
        ]
        return torch.cat(messages, 1) + self.bias


class GATv2(Convolution):
    r"""Attention of Brody et al. (2022) over the neighbours and the node itself.

    .. math::
        \alpha_{ij} = \mathrm{softmax}_j\; a^\top \mathrm{LeakyReLU}(X_i W_t + X_j W_s), \qquad
        H_i = \sum_j \alpha_{ij} X_j W_s + b

    Heads share the width: each has ``outputs / heads`` columns, side by side. Edge weights multiply the attention
    before it is normalised to a sum of one.
    """

    def __init__(self, inputs: int, outputs: int, heads: int = 4) -> None:
        super().__init__()
        _check_heads(outputs, heads)
        self.source = Linear(inputs, outputs)
        self.target = Linear(inputs, outputs)
        self.attention = _attention(heads, outputs // heads)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.heads = heads

    def sources(self, x: Input, graph: MessageGraph, columns: slice | None = None) -> Tensor:
        messages: Tensor = self.source(x, columns)
        return messages

    def passes_on(self, x: Input) -> bool:
        return False

    def gather(self, sources: Tensor, x: Input, graph: MessageGraph, rows: Tensor | None) -> Tensor:
        edges = _edges(graph, rows)
        n = edges.shape[0]
        target = torch.repeat_interleave(torch.arange(n, device=sources.device), edges.crow_indices().diff())
        messages = sources[edges.col_indices()].view(-1, self.heads, self.attention.shape[1])  # edges × heads × c
        receiver = self.target(take(x, rows)).view(n, self.heads, self.attention.shape[1])[target]
        score = (nn.functional.leaky_relu(messages + receiver, 0.2) * self.attention).sum(-1)
        attention = _attention_weights(score, target, edges, graph)
        out = scatter(messages * attention.unsqueeze(-1), target, dim=0, dim_size=n, reduce="sum")
        return out.flatten(1) + self.bias


def _check_heads(outputs: int, heads: int) -> None:
    if outputs % heads:
        raise ValueError(f"hidden: given {outputs}, expected a multiple of heads = {heads}")


def _attention(heads: int, width: int) -> nn.Parameter:
    bound = math.sqrt(6 / (width + 1))
    return nn.Parameter(torch.empty(heads, width).uniform_(-bound, bound))


def _edges(graph: MessageGraph, rows: Tensor | None) -> Tensor:
    """The adjacency matrix with self-loops, or some of its rows."""
    looped = graph.with_self_loops
    return looped.adjacency if rows is None else looped.adjacency_rows(rows)


def _attention_weights(score: Tensor, target: Tensor, edges: Tensor, graph: MessageGraph) -> Tensor:
    """The softmax of the scores over the edges into each node (edges × heads), times the edge weights."""
    if graph.weighted:
        score = score + edges.values().log().unsqueeze(1)  # attention proportional to the weight
    return softmax(score, target, num_nodes=edges.shape[0])


def convolution(conv: Conv, inputs: int, outputs: int, heads: int, hops: int, teleport: float) -> Convolution:
    """A layer by its name."""
    match conv:
        case "gcn":
            return GCN(inputs, outputs)
        case "sgc":
            return GCN(inputs, outputs, hops)
        case "appnp":
            return APPNP(inputs, outputs, hops, teleport)
        case "mlp":
            return MLP(inputs, outputs)
        case "sage":
            return SAGE(inputs, outputs)
        case "graphconv":
            return GraphConv(inputs, outputs)
        case "gin":
            return GIN(inputs, outputs)
        case "gat":
            return GAT(inputs, outputs, heads)
        case "gatv2":
            return GATv2(inputs, outputs, heads)
