r"""Message-passing layers, each in two strokes: what every node may read, and what chosen nodes make of it.

The strokes are separate so that the last layer of a training step can be computed for the drawn rows only, and so that
a large graph can be embedded layer by layer in chunks of nodes. The formulas are those of torch_geometric's layers of
the same names, and the tests hold them to it. What is ours is the order of the products: features, wide and sparse, are
mapped before they are passed on; hidden layers are passed on as they are and mapped where they arrive, so that a layer
needs no second copy of its input and the map is applied to the wanted rows only.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch_geometric.utils import scatter, softmax

from girl.graph.features import Features
from girl.graph.graph import Graph
from girl.graph.sparse_matrix import Operator, WeighedOperator
from girl.kernel.sparse import csr

Conv = Literal["gcn", "gat", "gatv2", "graphconv", "sage", "gin", "sgc", "appnp", "mlp"]
CONVS = get_args(Conv)
#: Layers that weigh every edge anew, in several heads.
ATTENTION = ("gat", "gatv2")

Input = Tensor | Features


class Linear(nn.Module):
    r"""x W + b, for dense rows or :class:`~girl.graph.features.Features`."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__()
        bound = math.sqrt(6 / (inputs + outputs))  # Glorot & Bengio (2010)
        self.weight = nn.Parameter(torch.empty(inputs, outputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None

    def forward(self, x: Input, columns: slice | None = None) -> Tensor:
        """All columns of the result, or some."""
        if columns is None:
            out = x @ self.weight
            return out if self.bias is None else out + self.bias
        out = x @ self.weight[:, columns]
        return out if self.bias is None else out + self.bias[columns]


def take(x: Input, rows: Tensor | None) -> Input:
    """Some rows of an input, or all."""
    if rows is None:
        return x
    return x.rows(rows) if isinstance(x, Features) else x[rows]


def of_rows(operator: Operator, rows: Tensor | None) -> Operator:
    """An operator for some of its rows, or all."""
    return operator if rows is None else operator.rows(rows)


def mapped_early(linear: Linear, x: Input, columns: slice | None = None) -> Tensor:
    """Features are mapped before they are passed on; a layer's output is not."""
    if isinstance(x, Features):
        return linear(x, columns)
    return x if columns is None else x[:, columns]


def mapped_late(linear: Linear, x: Input, heard: Tensor) -> Tensor:
    """The map of what was heard, unless it was applied early."""
    return heard if isinstance(x, Features) else linear(heard)


class Convolution(nn.Module, ABC):
    """One layer. ``forward(x, graph, rows)`` gives the outputs of ``rows`` (all if not given)."""

    @abstractmethod
    def sources(self, x: Input, graph: Graph, columns: slice | None = None) -> Tensor:
        """What every node offers to its neighbours (n × k), or some columns of it: each is made without the others."""

    def passes_on(self, x: Input) -> bool:
        """Whether what nodes offer is the input itself."""
        return isinstance(x, Tensor)

    @abstractmethod
    def gather(self, sources: Tensor, x: Input, graph: Graph, rows: Tensor | None) -> Tensor:
        """What the nodes ``rows`` make of what they hear."""

    def forward(self, x: Input, graph: Graph, rows: Tensor | None = None) -> Tensor:
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

    def sources(self, x: Input, graph: Graph, columns: slice | None = None) -> Tensor:
        z = mapped_early(self.linear, x, columns)
        for _ in range(self.hops - 1):
            z = graph.gcn @ z
        return z

    def passes_on(self, x: Input) -> bool:
        return isinstance(x, Tensor) and self.hops == 1

    def gather(self, sources: Tensor, x: Input, graph: Graph, rows: Tensor | None) -> Tensor:
        return mapped_late(self.linear, x, of_rows(graph.gcn, rows) @ sources) + self.bias


class APPNP(Convolution):
    r""":math:`\Pi X W + b`, with :math:`\Pi` K steps of personalised PageRank (Gasteiger et al., 2019)."""

    def __init__(self, inputs: int, outputs: int, hops: int = 10, teleport: float = 0.1) -> None:
        super().__init__()
        self.linear = Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.hops, self.teleport = hops, teleport

    def sources(self, x: Input, graph: Graph, columns: slice | None = None) -> Tensor:
        return graph.smooth(mapped_early(self.linear, x, columns), self.teleport, self.hops)

    def passes_on(self, x: Input) -> bool:
        return False

    def gather(self, sources: Tensor, x: Input, graph: Graph, rows: Tensor | None) -> Tensor:
        return mapped_late(self.linear, x, sources if rows is None else sources[rows]) + self.bias

    def forward(self, x: Input, graph: Graph, rows: Tensor | None = None) -> Tensor:
        # In one go, the last propagation is that of the wanted rows only.
        heard = graph.smooth(mapped_early(self.linear, x), self.teleport, self.hops, rows=rows)
        return mapped_late(self.linear, x, heard) + self.bias


class MLP(Convolution):
    r""":math:`X W + b`: a layer that hears nothing, for graphs whose edges tell little."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = Linear(inputs, outputs)

    def sources(self, x: Input, graph: Graph, columns: slice | None = None) -> Tensor:
        return mapped_early(self.linear, x, columns)

    def gather(self, sources: Tensor, x: Input, graph: Graph, rows: Tensor | None) -> Tensor:
        return mapped_late(self.linear, x, sources if rows is None else sources[rows])


class SAGE(Convolution):
    r""":math:`D^{-1}A X W_n + X W_r + b` (Hamilton et al., 2017): the mean of the neighbours, and the node itself."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.neighbours = Linear(inputs, outputs, bias=False)
        self.root = Linear(inputs, outputs)

    def operator(self, graph: Graph) -> Operator:
        """How what the neighbours say is put together."""
        return graph.mean

    def sources(self, x: Input, graph: Graph, columns: slice | None = None) -> Tensor:
        return mapped_early(self.neighbours, x, columns)

    def gather(self, sources: Tensor, x: Input, graph: Graph, rows: Tensor | None) -> Tensor:
        heard = of_rows(self.operator(graph), rows) @ sources
        return mapped_late(self.neighbours, x, heard) + self.root(take(x, rows))


class GraphConv(SAGE):
    r""":math:`A X W_n + X W_r + b` (Morris et al., 2019): as SAGE, with the sum of the neighbours."""

    def operator(self, graph: Graph) -> Operator:
        return graph.sum


class GIN(Convolution):
    r""":math:`\mathrm{MLP}((1+\epsilon)X + AX)` (Xu et al., 2019), with a two-layer perceptron and a learned ε.

    The first map of the perceptron is linear, so it is applied before the sum: a sparse input stays sparse.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.second = Linear(outputs, outputs)
        self.epsilon = nn.Parameter(torch.zeros(()))

    def sources(self, x: Input, graph: Graph, columns: slice | None = None) -> Tensor:
        return mapped_early(self.first, x, columns)

    def gather(self, sources: Tensor, x: Input, graph: Graph, rows: Tensor | None) -> Tensor:
        own = sources if rows is None else sources[rows]
        heard = of_rows(graph.sum, rows) @ sources + (1 + self.epsilon) * own
        return self.second((mapped_late(self.first, x, heard) + self.bias).relu())


class GAT(Convolution):
    r"""Attention of Veličković et al. (2018) over the neighbours and the node itself.

    .. math::
        \alpha_{ij} = \mathrm{softmax}_j\; \mathrm{LeakyReLU}(a_t^\top X_i W + a_s^\top X_j W), \qquad
        H_i = \sum_j \alpha_{ij} X_j W + b

    Heads share the width, and weights of edges count, as in :class:`GATv2`. What a node says and what it is asked are
    a number each for a head, so that nothing as wide as a layer is written out along the edges.
    """

    def __init__(self, inputs: int, outputs: int, heads: int = 4) -> None:
        super().__init__()
        _check_heads(outputs, heads)
        self.linear = Linear(inputs, outputs, bias=False)
        self.says, self.asked = (_attention(heads, outputs // heads) for _ in range(2))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def sources(self, x: Input, graph: Graph, columns: slice | None = None) -> Tensor:
        found: Tensor = self.linear(x, columns)
        return found

    def passes_on(self, x: Input) -> bool:
        return False

    def gather(self, sources: Tensor, x: Input, graph: Graph, rows: Tensor | None) -> Tensor:
        edges = graph.looped.adjacency if rows is None else graph.looped.rows(rows)
        n, heads = edges.shape[0], len(self.says)
        target = torch.repeat_interleave(torch.arange(n, device=sources.device), edges.crow_indices().diff())
        source = edges.col_indices()
        split = sources.unflatten(1, (heads, -1))  # n × heads × c
        says = (split * self.says).sum(-1)
        asked = ((split if rows is None else split[rows]) * self.asked).sum(-1)
        share = _shares(nn.functional.leaky_relu(says[source] + asked[target], 0.2), target, edges, graph)
        here = Operator.of(csr(edges.crow_indices(), source, torch.ones_like(edges.values()), (n, edges.shape[1])))
        heard = [WeighedOperator(here, one) @ part for one, part in zip(share.unbind(1), split.unbind(1), strict=True)]
        return torch.cat(heard, 1) + self.bias


class GATv2(Convolution):
    r"""Attention of Brody et al. (2022) over the neighbours and the node itself.

    .. math::
        \alpha_{ij} = \mathrm{softmax}_j\; a^\top \mathrm{LeakyReLU}(X_i W_t + X_j W_s), \qquad
        H_i = \sum_j \alpha_{ij} X_j W_s + b

    Heads share the width: each has ``outputs / heads`` columns, side by side. Weights of edges multiply the shares
    before they are made to sum to one.
    """

    def __init__(self, inputs: int, outputs: int, heads: int = 4) -> None:
        super().__init__()
        _check_heads(outputs, heads)
        self.source = Linear(inputs, outputs)
        self.target = Linear(inputs, outputs)
        self.attention = _attention(heads, outputs // heads)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.heads = heads

    def sources(self, x: Input, graph: Graph, columns: slice | None = None) -> Tensor:
        found: Tensor = self.source(x, columns)
        return found

    def passes_on(self, x: Input) -> bool:
        return False

    def gather(self, sources: Tensor, x: Input, graph: Graph, rows: Tensor | None) -> Tensor:
        edges = graph.looped.adjacency if rows is None else graph.looped.rows(rows)
        n = edges.shape[0]
        target = torch.repeat_interleave(torch.arange(n, device=sources.device), edges.crow_indices().diff())
        read = sources[edges.col_indices()].view(-1, self.heads, self.attention.shape[1])  # edges × heads × c
        own = self.target(take(x, rows)).view(n, self.heads, self.attention.shape[1])[target]
        score = (nn.functional.leaky_relu(read + own, 0.2) * self.attention).sum(-1)
        share = _shares(score, target, edges, graph)
        out = scatter(read * share.unsqueeze(-1), target, dim=0, dim_size=n, reduce="sum")
        return out.flatten(1) + self.bias


def _check_heads(outputs: int, heads: int) -> None:
    if outputs % heads:
        raise ValueError(f"hidden: given {outputs}, expected a multiple of heads = {heads}")


def _attention(heads: int, width: int) -> nn.Parameter:
    bound = math.sqrt(6 / (width + 1))
    return nn.Parameter(torch.empty(heads, width).uniform_(-bound, bound))


def _shares(score: Tensor, target: Tensor, edges: Tensor, graph: Graph) -> Tensor:
    """How much of what a node hears comes along each edge (edges × heads), by scores and the weights of edges."""
    if graph.weighted:
        score = score + edges.values().log().unsqueeze(1)  # a share proportional to the weight
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
