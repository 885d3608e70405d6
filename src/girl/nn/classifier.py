"""A deep classifier of nodes: message-passing layers, then fully connected ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from girl.errors import InputError
from girl.graph.fully_adjacent import FullyAdjacentGraph
from girl.graph.graph import Graph, MessageGraph
from girl.graph.node_features import NORMALIZATIONS, NodeFeatures, Normalization
from girl.kernel.checks import check_bool, check_choice, check_int, check_number
from girl.nn.convolutions import ATTENTION, CONVS, Conv, Input
from girl.nn.encoder import CHUNK, Encoder, EncoderSettings


@dataclass(frozen=True)
class ClassifierSettings:
    """What a classifier is made of. As in the paper: SAGE layers, three fully connected ones, ReLU, dropout 0.1."""

    conv: Conv = "sage"
    """Kind of message-passing layer: sage, gcn, graphconv, gin, gat, gatv2, …"""
    depth: int = 3
    """Number of message-passing layers."""
    hidden: int = 256
    """Width of every layer."""
    head: int = 3
    """Number of fully connected layers that follow."""
    dropout: float = 0.1
    """Share of each layer's output that is hidden in training."""
    normalise: Normalization = "none"
    """Scaling of each node's features: none, l2 (length √d) or zscore (mean 0, spread 1)."""
    directed: bool = False
    """Whether messages follow the direction of the edges only."""
    adjacent: bool = False
    """Whether the last message-passing layer is fully adjacent: everyone hears everyone."""

    def __post_init__(self) -> None:
        try:
            check_choice("conv", self.conv, CONVS)
            check_choice("normalise", self.normalise, NORMALIZATIONS)
            for name in ("depth", "hidden", "head"):
                check_int(name, getattr(self, name), 1)
            check_number("dropout", self.dropout, 0, 1)
            for name in ("directed", "adjacent"):
                check_bool(name, getattr(self, name))
        except ValueError as error:
            raise InputError(str(error)) from error
        if self.adjacent and self.conv in ATTENTION:
            raise InputError("adjacent: a layer of attention weighs every edge, and a complete graph has n² of them")

    @property
    def encoder(self) -> EncoderSettings:
        """Its message-passing layers."""
        return EncoderSettings(
            conv=self.conv,
            hidden=self.hidden,
            layers=self.depth,
            activation="relu",
            normalise=self.normalise,
            directed=self.directed,
            keep=0.0,
        )


class Classifier(nn.Module):
    """Logits of every class for every node.

    Args:
        inputs: columns of the features.
        classes: columns of the output.
        settings: what lies between.
    """

    def __init__(self, inputs: int, classes: int, settings: ClassifierSettings) -> None:
        super().__init__()
        self.settings = s = settings
        self.encoder = Encoder(inputs, s.encoder)
        width = [s.hidden] * s.head + [classes]
        self.head = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(width))

    def forward(self, x: NodeFeatures, graph: Graph, generator: torch.Generator | None = None) -> Tensor:
        """Logits (n × classes). With a generator, which draws what is dropped, as in training; without, as in use."""
        h: Input = x
        for index in range(self.settings.depth):
            h = self._drop(self.encoder.layer(index, h, self._heard(index, graph)), generator)
        assert isinstance(h, Tensor)
        return self.logits(h, generator)

    def logits(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """The fully connected layers."""
        for layer in self.head[:-1]:
            h = self._drop(layer(h).relu(), generator)
        logits: Tensor = self.head[-1](h)
        return logits

    def _heard(self, index: int, graph: Graph) -> MessageGraph:
        """The graph that a layer runs on."""
        last = index == self.settings.depth - 1
        return FullyAdjacentGraph(graph.num_nodes, graph.device) if last and self.settings.adjacent else graph

    def _drop(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        share = self.settings.dropout
        if generator is None or not share:
            return h
        return h * (torch.rand(h.shape, generator=generator, device=h.device) >= share) / (1 - share)

    def by_layer(self, x: NodeFeatures, graph: Graph) -> Iterator[Tensor]:
        """Every message-passing layer's output in turn, for all nodes, without gradients: two layers are in memory."""
        return self.encoder.by_layer(x, graph, last=self._heard(self.settings.depth - 1, graph))

    @torch.no_grad()
    def predict(self, x: NodeFeatures, graph: Graph) -> Tensor:
        """Logits of all nodes, without gradients and layer by layer."""
        was = self.training
        self.eval()
        for h in self.by_layer(x, graph):
            last = h
        # Some rows at a time: of a large graph the fully connected layers would hold two more matrices of all nodes.
        found = torch.cat([self.logits(rows) for rows in last.split(CHUNK)])
        self.train(was)
        return found
