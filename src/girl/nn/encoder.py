"""The encoder: a stack of message-passing layers that returns the output of each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
from girl.settings import checking

Activation = Literal["elu", "prelu", "relu", "none"]
ACTIVATIONS = get_args(Activation)
Norm = Literal["none", "batch", "layer"]
NORMS = get_args(Norm)
Output = Literal["last", "layers"]
OUTPUTS = get_args(Output)
Readout = Pooling | Literal["kernel"]
READOUTS = (*get_args(Pooling), "kernel")

#: Nodes, and for GATv2 edges, whose outputs are computed at a time when a graph is embedded layer by layer. GATv2
#: stores a message for each edge.
CHUNK = 65_536
CHUNK_EDGES = 131_072

#: A node's own part in a layer takes about as long as this many edges; used to divide nodes evenly among processes.
NODE_EDGES = 16


@dataclass(frozen=True)
class EncoderSettings:
    """The layers of an encoder, and how embeddings are made from them."""

    conv: Conv = "appnp"
    """Kind of layer: gcn, gat, gatv2, graphconv, sage, gin; sgc (a linear map and ``hops`` propagations), appnp (a
    linear map and personalised PageRank) or mlp (a linear map, no messages)."""
    hidden: int = 512
    """Width of every layer."""
    layers: int = 1
    """Number of layers."""
    activation: Activation = "elu"
    """Activation after each layer: elu, prelu, relu or none."""
    norm: Norm = "none"
    """Normalization of each layer's output: none, batch or layer."""
    skip: bool = False
    """Whether each layer but the first adds its input to its output (a residual connection)."""
    heads: int = 4
    """Attention heads of a gat or gatv2 layer."""
    hops: int = 10
    """Propagations of an sgc or appnp layer."""
    teleport: float = 0.1
    """Teleport probability of an appnp layer: the weight of a node's own signal at each propagation."""
    normalize: Normalization = "l2"
    """Scaling of each node's features: none, l2 (length √d), sized (l2, with the size in columns of its own), sum
    (absolute values sum to 1) or zscore (mean 0, standard deviation 1)."""
    directed: bool = False
    """Whether messages follow the direction of the edges only."""
    output: Output = "last"
    """What represents a node: the last layer, or all layers side by side."""
    keep: float = 0.2
    """Standard deviation of the node's own features, which stand beside the layers in its embedding, relative to the
    layers'; 0: they are left out."""
    unit: bool = True
    """Whether each part of a node's embedding is scaled to length 1."""
    readout: Readout = "sum"
    """How the nodes of a graph are pooled, in a set of graphs: sum, mean, max, or kernel (sums of kernel features,
    which describe where nodes lie)."""
    readout_width: float = 1.0
    """Width of the kernel readout, in units of the mean squared distance: the smaller, the finer."""
    readout_rank: int = 0
    """Columns of the kernel readout for each layer; 0: as many as the layer has."""
    act_first: bool = False
    """Whether the activation comes before the normalization, as in GraphCL's code, instead of after it."""

    def __post_init__(self) -> None:
        with checking():
            check_choice("conv", self.conv, CONVS)
            check_choice("activation", self.activation, ACTIVATIONS)
            check_choice("norm", self.norm, NORMS)
            check_choice("normalize", self.normalize, NORMALIZATIONS)
            check_choice("output", self.output, OUTPUTS)
            check_choice("readout", self.readout, READOUTS)
            for name in ("hidden", "layers", "heads", "hops"):
                check_int(name, getattr(self, name), 1)
            check_int("readout_rank", self.readout_rank, 0)
            check_number("teleport", self.teleport, 0, 1, low_open=True)
            check_number("keep", self.keep, 0)
            check_number("readout_width", self.readout_width, 0, low_open=True)
            for name in ("skip", "directed", "unit", "act_first"):
                check_bool(name, getattr(self, name))
        if self.conv in ATTENTION and self.hidden % self.heads:
            raise InputError(f"hidden: given {self.hidden}, expected a multiple of heads = {self.heads}")

    @property
    def width(self) -> int:
        """Columns of the layers that represent a node."""
        return self.hidden * (self.layers if self.output == "layers" else 1)

    @property
    def readout_columns(self) -> int:
        """Columns of the kernel readout for each layer."""
        return self.readout_rank or self.hidden

    @property
    def pooling(self) -> Pooling:
        """The pooling used in training. The kernel readout is fitted after training; until then it is a sum."""
        return "sum" if self.readout == "kernel" else self.readout


class Encoder(nn.Module):
    """Layers H⁽¹⁾..H⁽ᵈ⁾ on the features H⁽⁰⁾ = X of a graph.

    Args:
        inputs: columns of X.
        settings: the layers.
    """

    communicator: Communicator | None = None
    """The processes that share :meth:`iter_layers`, if there are several."""

    def __init__(self, inputs: int, settings: EncoderSettings) -> None:
        super().__init__()
        self.settings = s = settings
        widths = [inputs] + [s.hidden] * s.layers
        self.convolutions = nn.ModuleList(
            convolution(s.conv, a, b, s.heads, s.hops, s.teleport) for a, b in pairwise(widths)
        )
        norm = {"none": nn.Identity, "batch": nn.BatchNorm1d, "layer": nn.LayerNorm}[s.norm]
        self.norms = nn.ModuleList(norm(s.hidden) for _ in range(s.layers))
        self.activations = nn.ModuleList(_activation(s.activation, s.hidden) for _ in range(s.layers))

    def convolution(self, index: int) -> Convolution:
        """The message passing of one layer."""
        layer = self.convolutions[index]
        assert isinstance(layer, Convolution)
        return layer

    @torch.no_grad()
    def set_identity(self, directions: Tensor) -> None:
        """Make every linear map the identity, but map the features by ``directions`` (d × hidden)."""
        for index, conv in enumerate(self.convolutions):
            for part in conv.modules():
                if isinstance(part, Linear):
                    first = index == 0 and part.weight.shape == directions.shape
                    part.weight.copy_(directions if first else torch.eye(*part.weight.shape, device=part.weight.device))

    def layer(
        self, index: int, x: Input, graph: MessageGraph, rows: Tensor | None = None, sources: Tensor | None = None
    ) -> Tensor:
        """The output of one layer for ``rows`` (all if None), from its ``sources`` if these are given."""
        conv = self.convolution(index)
        out = conv(x, graph, rows) if sources is None else conv.gather(sources, x, graph, rows)
        steps = (self.norms[index], self.activations[index])
        for step in reversed(steps) if self.settings.act_first else steps:
            out = step(out)
        if self.settings.skip and isinstance(x, Tensor):
            out = out + (x if rows is None else x[rows])
        return out

    def forward(
        self, x: LinearMap, graph: MessageGraph, rows: Tensor | None = None, *, greedy: bool = False
    ) -> list[Tensor]:
        """Every layer's output.

        Args:
            x: features, n × d.
            graph: the graph.
            rows: nodes for which the last layer is computed; all if None.
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
    def iter_layers(
        self,
        x: NodeFeatures,
        graph: Graph,
        chunk: int = CHUNK,
        chunk_edges: int = CHUNK_EDGES,
        *,
        last_graph: MessageGraph | None = None,
    ) -> Iterator[Tensor]:
        """Every layer's output for all nodes in turn, in chunks of nodes: two layers are in memory at a time.

        Layers whose messages are not their input (appnp, sgc and attention above the first) need a third. The last
        layer runs on ``last_graph``, if given.

        Within :func:`shared_encoders` a process computes some columns of the messages, and the outputs of some nodes.
        """
        h: Input = x
        edges = graph.degree + 1 if self.settings.conv == "gatv2" else torch.zeros_like(graph.degree)
        bounds = (
            [0, graph.num_nodes]
            if self.communicator is None
            else _even_bounds(graph.degree + NODE_EDGES, self.communicator.world_size)
        )
        rank = 0 if self.communicator is None else self.communicator.rank
        first, stop = bounds[rank], bounds[rank + 1]
        for index in range(self.settings.layers):
            out = torch.empty(graph.num_nodes, self.settings.hidden, device=graph.device)
            layer_graph = graph if last_graph is None or index < self.settings.layers - 1 else last_graph
            sources = self._sources(index, h, layer_graph)
            for nodes in _chunks(edges[first:stop], chunk, chunk_edges, first):
                out[nodes[0] : nodes[-1] + 1] = self.layer(index, h, layer_graph, nodes, sources)
            del sources
            if self.communicator is not None:
                self.communicator.broadcast_parts([out[start:end] for start, end in pairwise(bounds)])
            h = out
            yield out

    def _sources(self, index: int, x: Input, graph: MessageGraph) -> Tensor:
        """The messages of all nodes in one layer, n × k; each process computes some columns."""
        conv = self.convolution(index)
        if self.communicator is None or conv.passes_on(x):
            return conv.sources(x, graph)
        parts = self.communicator.partition(self.settings.hidden)
        blocks = [torch.empty(graph.num_nodes, part.stop - part.start, device=graph.device) for part in parts]
        blocks[self.communicator.rank] = conv.sources(x, graph, parts[self.communicator.rank]).contiguous()
        self.communicator.broadcast_parts(blocks)
        return torch.cat(blocks, 1)


@contextmanager
def shared_encoders(module: nn.Module, communicator: Communicator | None) -> Iterator[None]:
    """Within this block, the encoders in a module share the work of :meth:`Encoder.iter_layers` with other processes.

    All processes must make the same calls in the same order; all get the same results.
    """
    encoders = [part for part in module.modules() if isinstance(part, Encoder)]
    for encoder in encoders:
        encoder.communicator = communicator
    try:
        yield
    finally:
        for encoder in encoders:
            encoder.communicator = None


def _even_bounds(weight: Tensor, count: int) -> list[int]:
    """Bounds of ``count`` consecutive parts of about the same weight, from 0 to the number of entries."""
    sums = weight.cumsum(0)
    total = int(sums[-1]) if len(sums) else 0
    marks = torch.tensor([total * part // count for part in range(1, count)], device=weight.device)
    return [0, *torch.searchsorted(sums, marks, right=True).tolist(), len(weight)]


def _chunks(edges: Tensor, chunk: int, max_edges: int, first: int = 0) -> Iterator[Tensor]:
    """Nodes from ``first`` on, at most ``chunk`` at a time; only the last of a chunk may exceed ``max_edges``."""
    before = edges.cumsum(0) - edges
    start = 0
    while start < edges.numel():
        fits = int(torch.searchsorted(before, before[start] + max_edges, right=False))
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
