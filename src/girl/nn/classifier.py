"""A deep node classifier: message-passing layers, then fully connected ones."""

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
from girl.settings import checking


@dataclass(frozen=True)
class ClassifierSettings:
    """The classifier. The defaults are the paper's: SAGE layers, three fully connected ones, ReLU, dropout 0.1."""

    conv: Conv = "sage"
    """Kind of message-passing layer: sage, gcn, graphconv, gin, gat, gatv2, …"""
    depth: int = 3
    """Number of message-passing layers."""
    hidden: int = 256
    """Width of every layer."""
    head: int = 3
    """Number of fully connected layers after them."""
    dropout: float = 0.1
    """Fraction of each layer's output that is dropped in training."""
    normalize: Normalization = "none"
    """Scaling of each node's features: none, l2 (length √d) or zscore (mean 0, standard deviation 1)."""
    directed: bool = False
    """Whether messages follow the direction of the edges only."""
    fully_adjacent: bool = False
    """Whether the last message-passing layer is fully adjacent (Alon & Yahav, 2021): all pairs of nodes are edges."""

    def __post_init__(self) -> None:
        with checking():
            check_choice("conv", self.conv, CONVS)
            check_choice("normalize", self.normalize, NORMALIZATIONS)
            for name in ("depth", "hidden", "head"):
                check_int(name, getattr(self, name), 1)
            check_number("dropout", self.dropout, 0, 1)
            for name in ("directed", "fully_adjacent"):
                check_bool(name, getattr(self, name))
        if self.fully_adjacent and self.conv in ATTENTION:
            raise InputError(
                f"fully_adjacent: given with conv {self.conv!r}, expected a layer without attention: attention weights "
                "every edge, and a fully-adjacent layer has n² of them"
            )

    @property
    def encoder(self) -> EncoderSettings:
        """The settings of its message-passing layers."""
        return EncoderSettings(
            conv=self.conv,
            hidden=self.hidden,
            layers=self.depth,
            activation="relu",
            normalize=self.normalize,
            directed=self.directed,
            keep=0.0,
        )


class Classifier(nn.Module):
    """Logits of every class for every node.

    Args:
        inputs: number of feature columns.
        classes: number of classes.
        settings: the layers.
    """

    def __init__(self, inputs: int, classes: int, settings: ClassifierSettings) -> None:
        super().__init__()
        self.settings = s = settings
        self.encoder = Encoder(inputs, s.encoder)
        widths = [s.hidden] * s.head + [classes]
        self.head = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))

    def forward(self, x: NodeFeatures, graph: Graph, generator: torch.Generator | None = None) -> Tensor:
        """Logits (n × classes); with a generator, which draws the dropout, as in training."""
        h: Input = x
        for index in range(self.settings.depth):
            h = self._dropout(self.encoder.layer(index, h, self._layer_graph(index, graph)), generator)
        assert isinstance(h, Tensor)
        return self.logits(h, generator)

    def logits(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """The fully connected layers."""
        for layer in self.head[:-1]:
            h = self._dropout(layer(h).relu(), generator)
        logits: Tensor = self.head[-1](h)
        return logits

    def _layer_graph(self, index: int, graph: Graph) -> MessageGraph:
        """The graph of a message-passing layer: the given one, unless the last layer is fully adjacent."""
        last = index == self.settings.depth - 1
        return FullyAdjacentGraph(graph.num_nodes, graph.device) if last and self.settings.fully_adjacent else graph

    def _dropout(self, h: Tensor, generator: torch.Generator | None) -> Tensor:
        rate = self.settings.dropout
        if generator is None or not rate:
            return h
        return h * (torch.rand(h.shape, generator=generator, device=h.device) >= rate) / (1 - rate)

    def iter_layers(self, x: NodeFeatures, graph: Graph) -> Iterator[Tensor]:
        """Every message-passing layer's output for all nodes in turn, without gradients; two are in memory at once."""
        return self.encoder.iter_layers(x, graph, last_graph=self._layer_graph(self.settings.depth - 1, graph))

    @torch.no_grad()
    def predict(self, x: NodeFeatures, graph: Graph) -> Tensor:
        """Logits of all nodes, without gradients and layer by layer."""
        was_training = self.training
        self.eval()
        for h in self.iter_layers(x, graph):
            last = h
        # In chunks: on a large graph the fully connected layers would hold two more matrices of all nodes.
        logits = torch.cat([self.logits(rows) for rows in last.split(CHUNK)])
        self.train(was_training)
        return logits
