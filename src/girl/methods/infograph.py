"""InfoGraph: a graph's embedding scores its own nodes above those of other graphs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from girl.graph.batch import Batch
from girl.methods.augment import graph_index
from girl.methods.encoder_method import EncoderMethod
from girl.nn.convolutions import Linear
from girl.nn.encoder import EncoderSettings


@dataclass(frozen=True)
class InfoGraphSettings:
    """InfoGraph has no settings of its own."""


class ResidualMLP(nn.Module):
    """Three linear layers with ReLU, plus a linear shortcut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for _ in range(3):
            layers += [Linear(width, width), nn.ReLU()]
        self.layers, self.shortcut = nn.Sequential(*layers), Linear(width, width)

    def forward(self, h: Tensor) -> Tensor:
        out: Tensor = self.layers(h) + self.shortcut(h)
        return out


class InfoGraph(EncoderMethod):
    r"""InfoGraph (Sun et al., 2020), unsupervised.

    The score :math:`s_{ik}` of node i and graph k is the inner product of their embeddings, each mapped by a network.
    The loss is the Jensen-Shannon estimate of mutual information, negated:

    .. math:: L = \operatorname{mean}_{i\notin k}\bigl[\mathrm{sp}(-s_{ik}) + s_{ik} - \log2\bigr]
        - \operatorname{mean}_{i\in k}\bigl[\log2 - \mathrm{sp}(-s_{ik})\bigr], \qquad \mathrm{sp}(s)=\log(1+e^s).
    """

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: InfoGraphSettings) -> None:
        super().__init__(inputs, encoder)
        self.node_network, self.graph_network = ResidualMLP(encoder.width), ResidualMLP(encoder.width)

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """The negated estimate; a single graph has no negatives."""
        index = graph_index(batch)
        if batch.num_graphs < 2:
            return {}
        h = self.combine_layers(self.encoder(batch.x, batch.graph))
        pooling = self.encoder.settings.pooling
        scores = self.node_network(h) @ self.graph_network(batch.pool(h, pooling)).T  # n × count
        member = torch.zeros_like(scores, dtype=torch.bool)
        member[torch.arange(len(h), device=h.device), index] = True
        below = softplus(-scores)
        positive = (math.log(2) - below)[member].mean()
        negative = (below + scores - math.log(2))[~member].mean()
        return {"information": negative - positive}
