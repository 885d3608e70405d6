"""A method with one encoder, and how representations are put together from its layers: the same for every method."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from girl.graph.batch import Batch
from girl.graph.subspace import BLOCK, principal_directions
from girl.methods.base import Method, Needs
from girl.nn.encoder import Encoder, EncoderSettings
from girl.nn.readout import KernelReadout

#: Bytes of a number.
FLOAT = 4

#: Matrices of nodes × hidden that a layer and the way back through it hold, about.
PER_LAYER = 3

#: Matrices of nodes × rank in memory while principal components are sought; of directions alone, of nodes × a block.
PER_COMPONENTS = 4


def encoder_bytes(s: EncoderSettings, whole: Batch, nodes: int) -> float:
    """What the layers hold in a step on so many nodes of a graph; attention writes out what passes along each edge."""
    heard = nodes
    if s.conv == "gatv2":
        heard += round(whole.graph.adjacency.values().numel() * nodes / max(whole.num_nodes, 1)) + nodes
    return FLOAT * PER_LAYER * s.layers * s.hidden * heard


def batch_bytes(whole: Batch, nodes: int) -> float:
    """A batch of so many nodes of a graph: features, seen in part, and edges with their operator."""
    entries = whole.x.shape[1] * whole.num_nodes if whole.x.sparse is None else 2 * whole.x.sparse.values.numel()
    edges = whole.graph.adjacency.values().numel()
    return FLOAT * (2 * entries + 4 * edges) * nodes / max(whole.num_nodes, 1)


class EncoderMethod(Method):
    """A method whose representations are those of one encoder.

    A node's representation is the encoder's last layer, or all of them, and beside it, if the settings keep them, the
    node's own features. That of a graph in a set of graphs is made from its nodes', by the readout.

    Args:
        inputs: columns of the features.
        encoder: what the encoder is made of.
    """

    directions: Tensor
    feature_mean: Tensor
    scales: Tensor

    def __init__(self, inputs: int, encoder: EncoderSettings) -> None:
        super().__init__()
        self.encoder = Encoder(inputs, encoder)
        # The features' part of the representation: wide ones by their principal components.
        kept = min(inputs, encoder.hidden) if encoder.keep else 0
        self.register_buffer("directions", torch.zeros(inputs, kept))
        self.register_buffer("feature_mean", torch.zeros(inputs if kept else 0))
        # Of each part, features and layers; zero until training ends. Another graph is embedded on the same scale.
        layers = encoder.layers if encoder.output == "layers" else 1
        self.register_buffer("scales", torch.zeros(1 + layers))
        # Of each layer that represents a graph; none if graphs are sums, means or maxima of their nodes.
        kernels = layers if encoder.readout == "kernel" else 0
        self.readouts = nn.ModuleList(
            KernelReadout(encoder.hidden, encoder.readout_width, encoder.readout_columns) for _ in range(kernels)
        )

    def prepare(self, whole: Batch, generator: torch.Generator) -> None:
        """The directions of the features' part."""
        if self.directions.numel():
            n, d = whole.x.shape
            rank = min(self.directions.shape[1], n)
            found = principal_directions(whole.x.__matmul__, whole.x.t_matmul, (n, d), rank, generator)
            self.directions[:, :rank], self.feature_mean[:] = found

    passes = 4
    """What a step holds, in passes of its batch through the encoder: most methods compare and project two views."""

    def needs(self, whole: Batch, nodes: int) -> Needs:
        """The outputs of the layers in all passes, the batch itself, and the representations."""
        s = self.encoder.settings
        rank = self.directions.shape[1]
        return Needs(
            preparing=FLOAT * PER_COMPONENTS * whole.num_nodes * min(rank, BLOCK),
            step=self.passes * encoder_bytes(s, whole, nodes) + 2 * batch_bytes(whole, nodes),
            result=FLOAT * whole.num_nodes * (self.width + 4 * s.hidden),
        )

    @torch.no_grad()
    def finish(self, whole: Batch) -> Tensor:
        r"""Fix the scales of the parts: the layers' to a mean length of 1, the features' to a share of their spread.

        A probe is fitted under a penalty on its weights, so a part of small spread is used as far as the labels pay for
        it. With a share of 0.2 a few labels read the layers, which know the surroundings; many labels also read what is
        the node's own.
        """
        self.scales.fill_(1)
        out = self._embed(whole, fit=True)
        features, *layers = out.split(self._widths(whole.graph_id is not None), 1)
        if not self.encoder.settings.unit:
            lengths = torch.stack([part.square().sum(1).mean().sqrt() for part in layers])
            self.scales[1:] = 1 / lengths.clamp(min=1e-12)
        if features.shape[1]:
            spread = torch.stack([part.var(0, correction=0).sum() for part in layers]) * self.scales[1:].square()
            own = features.var(0, correction=0).sum().clamp(min=1e-12)
            self.scales[0] = self.encoder.settings.keep * (spread.sum() / own).sqrt()
        for part, scale in zip((features, *layers), self.scales, strict=True):
            part.mul_(scale)
        return out

    @property
    def width(self) -> int:
        """Columns of a representation."""
        return sum(self._widths(bool(self.readouts)))

    def _widths(self, read: bool) -> list[int]:
        """Columns of the parts of a representation: the features, and each layer, that of graphs if ``read``."""
        s = self.encoder.settings
        layer = s.readout_columns if read and self.readouts else s.hidden
        return [self.directions.shape[1], *[layer] * (len(self.scales) - 1)]

    def by_layer(self, whole: Batch) -> Iterator[Tensor]:
        """Every layer's output for all nodes in turn, without gradients."""
        return self.encoder.by_layer(whole.x, whole.graph)

    def read(self, batch: Batch) -> Tensor:
        """Representations of the graphs of a set (count × k) by the readout of the layers, with gradients."""
        return batch.pool(self.joined(self.encoder(batch.x, batch.graph)), self.encoder.settings.pooling)

    def joined(self, layers: list[Tensor]) -> Tensor:
        """The layers that represent a node, side by side (n × k)."""
        return torch.cat(layers, 1) if self.encoder.settings.output == "layers" else layers[-1]

    def spread(self, layer: Tensor, whole: Batch) -> Tensor:
        """What a layer's output (n × k) becomes in the representation: itself, in most methods."""
        return layer

    @torch.no_grad()
    def embed(self, whole: Batch) -> Tensor:
        """The representations of all nodes (n × k), or of all graphs of a set, computed layer by layer."""
        return self._embed(whole) if self.scales.any() else self.finish(whole)

    def _embed(self, whole: Batch, fit: bool = False) -> Tensor:
        s = self.encoder.settings
        was_training = self.training
        self.eval()
        widths = self._widths(whole.graph_id is not None)
        out = torch.empty(whole.num_graphs or whole.num_nodes, sum(widths), device=whole.x.device)
        features, *layers = out.split(widths, 1)

        def read(h: Tensor, layer: int | None = None) -> Tensor:
            if whole.graph_id is None:
                return h
            if layer is None or not self.readouts:
                return whole.pool(h, s.pooling)
            readout = self.readouts[layer]
            assert isinstance(readout, KernelReadout)
            if fit:
                readout.fit(h, whole.graph_id, whole.num_graphs)
            found: Tensor = readout(h, whole.graph_id, whole.num_graphs)
            return found

        if widths[0]:
            own = whole.x @ self.directions
            features.copy_(read(own.sub_(self.feature_mean @ self.directions)))
            del own
        wanted = range(s.layers - len(layers), s.layers)
        for index, layer in enumerate(self.by_layer(whole)):
            if index in wanted:
                place = index - wanted.start
                layers[place].copy_(read(self.spread(layer, whole), place))
        for part, scale in zip((features, *layers), self.scales, strict=True):
            if s.unit:
                functional.normalize(part, out=part)
            part.mul_(scale)
        self.train(was_training)
        return out
