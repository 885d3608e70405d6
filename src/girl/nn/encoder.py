"""The encoder: message-passing layers one upon another, every one of them returned."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from girl.errors import InputError
from girl.graph.batch import Pooling
from girl.graph.graph import Graph, MessageGraph
from girl.graph.node_features import NORMALIZATIONS, NodeFeatures, Normalization
from girl.kernel.checks import check_bool, check_choice, check_int, check_number
from girl.kernel.distributed import Communicator
from girl.kernel.sparse import LinearMap
from girl.nn.convolutions import ATTENTION, CONVS, Conv, Convolution, Input, Linear, convolution
from girl.settings import LATE

Activation = Literal["elu", "prelu", "relu", "none"]
ACTIVATIONS = get_args(Activation)
Norm = Literal["none", "batch", "layer"]
NORMS = get_args(Norm)
Output = Literal["last", "layers"]
OUTPUTS = get_args(Output)
Readout = Pooling | Literal["kernel"]
READOUTS = (*get_args(Pooling), "kernel")

#: Nodes whose outputs are made at a time when a graph is embedded layer by layer, and edges of a layer of attention,
#: which writes out what passes along each.
CHUNK = 65_536
CHUNK_EDGES = 131_072

#: Edges that take as long as a node's own part in a layer, about; by it nodes are shared out among processes.
NODE_EDGES = 16


@dataclass(frozen=True)
class EncoderSettings:
    """What an encoder is made of."""

    conv: Conv = "appnp"
    """Kind of layer: gcn, gat, gatv2, graphconv, sage, gin; sgc (a linear map and ``hops`` propagations), appnp (a
    linear map and personalised PageRank) or mlp (a linear map, no messages)."""
    hidden: int = 512
    """Width of every layer."""
    layers: int = 1
    """Number of layers."""
    activation: Activation = "elu"
    """What follows each layer: elu, prelu, relu or none."""
    norm: Norm = "none"
    """Normalisation of each layer's output: none, batch or layer."""
    skip: bool = False
    """Whether each layer but the first adds its input to its output (a residual connection)."""
    heads: int = 4
    """Heads of a layer of attention, gat or gatv2."""
    hops: int = 10
    """Propagations of an sgc or appnp layer."""
    teleport: float = 0.1
    """Share of its own signal that a node keeps at each propagation of an appnp layer."""
    normalise: Normalization = "l2"
    """Scaling of each node's features: none, l2 (length √d), sized (l2, the size in columns of its own), sum (sizes
    that sum to 1) or zscore (mean 0, spread 1)."""
    directed: bool = False
    """Whether messages follow the direction of the edges only."""
    output: Output = "last"
    """What represents a node: the last layer, or all layers side by side."""
    keep: float = 0.2
    """Spread of the node's own features, which stand beside the layers in its representation, as a share of the
    layers' spread; 0: they are left out."""
    unit: bool = True
    """Whether each part of a node's representation is scaled to length 1."""
    readout: Readout = field(default="sum", metadata=LATE)
    """How the nodes' representations make that of their graph, in a set of graphs: sum, mean, max, or kernel (sums of
    kernel features, which tell where the nodes lie)."""
    readout_width: float = field(default=1.0, metadata=LATE)
    """Width of the kernel readout, in means of the squared distances: the smaller, the finer."""
    readout_rank: int = field(default=0, metadata=LATE)
    """Columns of the kernel readout for each layer; 0: as many as the layer has."""
    norm_last: bool = field(default=False, metadata=LATE)
    """Whether the normalisation follows the activation, as in GraphCL's program, instead of coming before it."""

    def __post_init__(self) -> None:
        try:
            check_choice("conv", self.conv, CONVS)
            check_choice("activation", self.activation, ACTIVATIONS)
            check_choice("norm", self.norm, NORMS)
            check_choice("normalise", self.normalise, NORMALIZATIONS)
            check_choice("output", self.output, OUTPUTS)
            check_choice("readout", self.readout, READOUTS)
            for name in ("hidden", "layers", "heads", "hops"):
                check_int(name, getattr(self, name), 1)
            check_int("readout_rank", self.readout_rank, 0)
            check_number("teleport", self.teleport, 0, 1, low_open=True)
            check_number("keep", self.keep, 0, math.inf)
            check_number("readout_width", self.readout_width, 0, math.inf, low_open=True)
            for name in ("skip", "directed", "unit", "norm_last"):
                check_bool(name, getattr(self, name))
        except ValueError as error:
            raise InputError(str(error)) from error
        if self.conv in ATTENTION and self.hidden % self.heads:
            raise InputError(f"hidden: given {self.hidden}, expected a multiple of heads = {self.heads}")

    @property
    def readout_columns(self) -> int:
        """Columns of the kernel readout for each layer."""
        return self.readout_rank or self.hidden

    @property
    def pooling(self) -> Pooling:
        """The readout where gradients pass through it; of the kernel readout, which is made after training, sums."""
        return "sum" if self.readout == "kernel" else self.readout


class Encoder(nn.Module):
    """Layers H⁽¹⁾..H⁽ᵈ⁾ on the features H⁽⁰⁾ = X of a graph.

    Args:
        inputs: columns of X.
        settings: what the layers are.
    """

    ranks: Communicator | None = None
    """The processes that share :meth:`by_layer`, if several do."""

    def __init__(self, inputs: int, settings: EncoderSettings) -> None:
        super().__init__()
        self.settings = s = settings
        width = [inputs] + [s.hidden] * s.layers
        self.convolutions = nn.ModuleList(
            convolution(s.conv, a, b, s.heads, s.hops, s.teleport) for a, b in pairwise(width)
        )
        norm = {"none": nn.Identity, "batch": nn.BatchNorm1d, "layer": nn.LayerNorm}[s.norm]
        self.norms = nn.ModuleList(norm(s.hidden) for _ in range(s.layers))
        self.activations = nn.ModuleList(_activation(s.activation, s.hidden) for _ in range(s.layers))

    def convolution(self, index: int) -> Convolution:
        """The message passing of one layer."""
        found = self.convolutions[index]
        assert isinstance(found, Convolution)
        return found

    @torch.no_grad()
    def set_maps(self, directions: Tensor) -> None:
        """Make every map the identity, but for those of the features, which become ``directions`` (d × hidden)."""
        for index, conv in enumerate(self.convolutions):
            for part in conv.modules():
                if isinstance(part, Linear):
                    same = torch.eye(*part.weight.shape, device=part.weight.device)
                    wanted = directions if index == 0 and part.weight.shape == directions.shape else same
                    part.weight.copy_(wanted)

    def layer(
        self, index: int, x: Input, graph: MessageGraph, rows: Tensor | None = None, sources: Tensor | None = None
    ) -> Tensor:
        """The output of one layer for ``rows`` (all if not given); ``sources`` if they have been computed before."""
        conv = self.convolution(index)
        out = conv(x, graph, rows) if sources is None else conv.gather(sources, x, graph, rows)
        steps = (self.norms[index], self.activations[index])
        for step in reversed(steps) if self.settings.norm_last else steps:
            out = step(out)
        if self.settings.skip and isinstance(x, Tensor):
            out = out + (x if rows is None else x[rows])
        return out

    def forward(
        self, x: LinearMap, graph: MessageGraph, rows: Tensor | None = None, *, greedy: bool = False
    ) -> list[Tensor]:
        """Every layer's output. The last is computed for ``rows`` only, if given.

        Args:
            x: features, n × d.
            graph: the graph.
            rows: nodes wanted of the last layer.
            greedy: cut gradients between layers.
        """
        outputs: list[Tensor] = []
        h: Input = x
        for index in range(self.settings.layers):
            last = index == self.settings.layers - 1
            h = self.layer(index, h, graph, rows if last else None)
            outputs.append(h)
            if greedy:
                h = h.detach()
        return outputs

    @torch.no_grad()
    def by_layer(
        self,
        x: NodeFeatures,
        graph: Graph,
        chunk: int = CHUNK,
        chunk_edges: int = CHUNK_EDGES,
        *,
        last: MessageGraph | None = None,
    ) -> Iterator[Tensor]:
        """Every layer's output in turn, for all nodes: no neighbourhood is in memory, and two layers at a time.

        Layers that pass on more than their input (appnp, sgc and attention above the first) need a third. ``last`` is
        the graph that the last layer runs on, if it is another.

        Within :func:`shared` each process makes some columns of what nodes offer, and the outputs of some nodes.
        """
        h: Input = x
        edges = graph.degree + 1 if self.settings.conv == "gatv2" else torch.zeros_like(graph.degree)
        bounds = [0, graph.num_nodes] if self.ranks is None else _even(graph.degree + NODE_EDGES, self.ranks.world_size)
        own = 0 if self.ranks is None else self.ranks.rank
        for index in range(self.settings.layers):
            out = torch.empty(graph.num_nodes, self.settings.hidden, device=graph.device)
            heard = graph if last is None or index < self.settings.layers - 1 else last
            sources = self._sources(index, h, heard)
            for nodes in _chunks(edges[bounds[own] : bounds[own + 1]], chunk, chunk_edges, bounds[own]):
                out[nodes[0] : nodes[-1] + 1] = self.layer(index, h, heard, nodes, sources)
            del sources
            if self.ranks is not None:
                self.ranks.broadcast_parts([out[start:stop] for start, stop in pairwise(bounds)])
            h = out
            yield out

    def _sources(self, index: int, x: Input, graph: MessageGraph) -> Tensor:
        """What all nodes offer to their neighbours in one layer."""
        conv = self.convolution(index)
        if self.ranks is None or conv.passes_on(x):
            return conv.sources(x, graph)
        width = self.settings.hidden
        parts = self.ranks.partition(width)
        blocks = [torch.empty(graph.num_nodes, part.stop - part.start, device=graph.device) for part in parts]
        blocks[self.ranks.rank] = conv.sources(x, graph, parts[self.ranks.rank]).contiguous()
        self.ranks.broadcast_parts(blocks)
        return torch.cat(blocks, 1)


@contextmanager
def shared(module: nn.Module, ranks: Communicator | None) -> Iterator[None]:
    """While this lasts, the encoders within a module share :meth:`Encoder.by_layer` with those of other processes.

    All processes must ask them the same in the same order, and get the same.
    """
    encoders = [part for part in module.modules() if isinstance(part, Encoder)]
    for encoder in encoders:
        encoder.ranks = ranks
    try:
        yield
    finally:
        for encoder in encoders:
            encoder.ranks = None


def _even(weight: Tensor, count: int) -> list[int]:
    """Where shares of about the same weight begin, and where the last one ends."""
    sums = weight.cumsum(0)
    total = int(sums[-1]) if len(sums) else 0
    marks = torch.tensor([total * share // count for share in range(1, count)], device=weight.device)
    return [0, *torch.searchsorted(sums, marks, right=True).tolist(), len(weight)]


def _chunks(edges: Tensor, chunk: int, most: int, first: int = 0) -> Iterator[Tensor]:
    """Nodes from ``first`` on, at most ``chunk`` at a time; one begins before ``most`` edges, or alone."""
    before = edges.cumsum(0) - edges
    start = 0
    while start < edges.numel():
        fits = int(torch.searchsorted(before, before[start] + most, right=False))
        stop = max(start + 1, min(start + chunk, fits))
        yield torch.arange(first + start, first + stop, device=edges.device)
        start = stop


def _activation(name: Activation, width: int) -> nn.Module:
    match name:
        case "elu":
            return nn.ELU()
        case "prelu":
            return nn.PReLU(width)
        case "relu":
            return nn.ReLU()
        case "none":
            return nn.Identity()
