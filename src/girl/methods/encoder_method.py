"""A method with one encoder: how embeddings are put together from its layers, the same for every method."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from girl.graph.batch import Batch
from girl.graph.subspace import BLOCK, principal_directions
from girl.methods.base import Method
from girl.methods.memory import FLOAT, PER_COMPONENTS, MemoryEstimate, batch_bytes, layer_bytes
from girl.nn.encoder import Encoder, EncoderSettings
from girl.nn.readout import KernelReadout


class EncoderMethod(Method):
    """A method whose embeddings are the outputs of one encoder; subclasses write :meth:`losses`.

    A node's embedding has up to two parts side by side: its own features, scaled by the setting ``keep``, and the
    encoder's last layer or all of its layers. The embedding of a graph in a set is pooled from those of its nodes.

    Args:
        inputs: number of feature columns.
        encoder: settings of the encoder.
    """

    directions: Tensor
    feature_mean: Tensor
    scales: Tensor
    fitted: Tensor

    passes = 4
    """Passes of a batch through the encoder that a step holds in memory: most methods project two views."""

    def __init__(self, inputs: int, encoder: EncoderSettings) -> None:
        super().__init__()
        self.encoder = Encoder(inputs, encoder)
        # The features' part: wide features are represented by their principal components.
        columns = min(inputs, encoder.hidden) if encoder.keep else 0
        self.register_buffer("directions", torch.zeros(inputs, columns))
        self.register_buffer("feature_mean", torch.zeros(inputs if columns else 0))
        # Factors of the features' part and of each layer; fixed by `finish`, so that other graphs get the same.
        layers = encoder.layers if encoder.output == "layers" else 1
        self.register_buffer("scales", torch.zeros(1 + layers))
        self.register_buffer("fitted", torch.tensor(False))
        # One for each layer that represents a graph; none if nodes are pooled by sum, mean or max.
        kernels = layers if encoder.readout == "kernel" else 0
        self.readouts = nn.ModuleList(
            KernelReadout(encoder.hidden, encoder.readout_width, encoder.readout_columns) for _ in range(kernels)
        )

    def prepare(self, data: Batch, generator: torch.Generator) -> None:
        """Compute the principal directions of the features' part."""
        if self.directions.numel():
            n, d = data.x.shape
            rank = min(self.directions.shape[1], n)
            directions, mean = principal_directions(data.x.__matmul__, data.x.t_matmul, (n, d), rank, generator)
            self.directions[:, :rank], self.feature_mean[:] = directions, mean

    def memory(self, data: Batch, batch_nodes: int) -> MemoryEstimate:
        """Layer outputs of all passes, the batch itself, and the embeddings."""
        s = self.encoder.settings
        rank = self.directions.shape[1]
        return MemoryEstimate(
            prepare=FLOAT * PER_COMPONENTS * data.num_nodes * min(rank, BLOCK),
            step=self.passes * layer_bytes(s, data, batch_nodes) + 2 * batch_bytes(data, batch_nodes),
            embed=FLOAT * data.num_nodes * (self.width + 4 * s.hidden),
        )

    @torch.no_grad()
    def finish(self, data: Batch) -> Tensor:
        """Fix the scales of the parts and return the embeddings.

        Layers get a mean squared length of 1. The features' part gets a standard deviation of ``keep`` times the
        layers': a probe penalizes large weights, so with ``keep`` = 0.2 and few labels it uses mostly the layers, and
        with many labels also the node's own features.
        """
        self.scales.fill_(1)
        out = self._embed(data, fit=True)
        features, *layers = out.split(self._widths(data.graph_id is not None), 1)
        if not self.encoder.settings.unit:
            lengths = torch.stack([part.square().sum(1).mean().sqrt() for part in layers])
            self.scales[1:] = 1 / lengths.clamp(min=1e-12)
        if features.shape[1]:
            variances = torch.stack([part.var(0, correction=0).sum() for part in layers]) * self.scales[1:].square()
            variance = features.var(0, correction=0).sum().clamp(min=1e-12)
            self.scales[0] = self.encoder.settings.keep * (variances.sum() / variance).sqrt()
        for part, scale in zip((features, *layers), self.scales, strict=True):
            part.mul_(scale)
        self.fitted.fill_(True)
        return out

    @property
    def width(self) -> int:
        """Columns of an embedding."""
        return sum(self._widths(bool(self.readouts)))

    def _widths(self, of_graphs: bool) -> list[int]:
        """Columns of the features' part and of each layer, in embeddings of nodes or ``of_graphs``."""
        s = self.encoder.settings
        layer = s.readout_columns if of_graphs and self.readouts else s.hidden
        return [self.directions.shape[1], *[layer] * (len(self.scales) - 1)]

    def iter_layers(self, data: Batch) -> Iterator[Tensor]:
        """Every layer's output for all nodes in turn, without gradients."""
        return self.encoder.iter_layers(data.x, data.graph)

    def combine_layers(self, layers: list[Tensor]) -> Tensor:
        """The layers that represent a node, side by side (n × k)."""
        return torch.cat(layers, 1) if self.encoder.settings.output == "layers" else layers[-1]

    def embed_graphs(self, batch: Batch) -> Tensor:
        """The layers of each graph of a set, pooled over its nodes (count × k), with gradients."""
        return batch.pool(self.combine_layers(self.encoder(batch.x, batch.graph)), self.encoder.settings.pooling)

    def transform_layer(self, h: Tensor, data: Batch) -> Tensor:
        """Applied to a layer's output (n × k) when nodes are embedded; most methods leave it as it is."""
        return h

    @torch.no_grad()
    def embed(self, data: Batch) -> Tensor:
        """The embeddings of all nodes (n × k), or of all graphs of a set, computed layer by layer."""
        if not self.fitted:
            raise RuntimeError(f"{type(self).__name__}: not fitted; call finish(data) with the training graph first")
        return self._embed(data)

    def _embed(self, data: Batch, fit: bool = False) -> Tensor:
        s = self.encoder.settings
        was_training = self.training
        self.eval()
        widths = self._widths(data.graph_id is not None)
        out = torch.empty(data.num_graphs or data.num_nodes, sum(widths), device=data.x.device)
        features, *layers = out.split(widths, 1)

        def pool(h: Tensor, layer: int | None = None) -> Tensor:
            if data.graph_id is None:
                return h
            if layer is None or not self.readouts:
                return data.pool(h, s.pooling)
            readout = self.readouts[layer]
            assert isinstance(readout, KernelReadout)
            if fit:
                readout.fit(h, data.graph_id, data.num_graphs)
            pooled: Tensor = readout(h, data.graph_id, data.num_graphs)
            return pooled

        if widths[0]:
            components = (data.x @ self.directions).sub_(self.feature_mean @ self.directions)
            features.copy_(pool(components))
            del components
        first = s.layers - len(layers)
        for index, h in enumerate(self.iter_layers(data)):
            if index >= first:
                layers[index - first].copy_(pool(self.transform_layer(h, data), index - first))
        for part, scale in zip((features, *layers), self.scales, strict=True):
            if s.unit:
                functional.normalize(part, out=part)
            part.mul_(scale)
        self.train(was_training)
        return out
