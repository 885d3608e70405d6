"""InfoGraph: a graph's nodes are told from those of other graphs, by the graph's representation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from girl.graph.batch import Batch
from girl.methods.augment import members_of
from girl.methods.encoder_method import EncoderMethod
from girl.methods.graphcl import width_of
from girl.nn.convolutions import Linear
from girl.nn.encoder import EncoderSettings


@dataclass(frozen=True)
class InfoGraphSettings:
    """InfoGraph has nothing to set."""


class Mapped(nn.Module):
    """Three layers with ReLU, and a linear way past them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for _ in range(3):
            layers += [Linear(width, width), nn.ReLU()]
        self.layers, self.past = nn.Sequential(*layers), Linear(width, width)

    def forward(self, h: Tensor) -> Tensor:
        found: Tensor = self.layers(h) + self.past(h)
        return found


class InfoGraph(EncoderMethod):
    r"""InfoGraph (Sun et al., 2020), unsupervised.

    With scores :math:`s_{ik}` of node i and graph k, the products of what two networks make of their representations,
    the estimate of Jensen and Shannon's divergence:

    .. math:: L = \operatorname{mean}_{i\notin k}\bigl[\mathrm{sp}(-s_{ik}) + s_{ik} - \log2\bigr]
        - \operatorname{mean}_{i\in k}\bigl[\log2 - \mathrm{sp}(-s_{ik})\bigr], \qquad \mathrm{sp}(s)=\log(1+e^s).
    """

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: InfoGraphSettings) -> None:
        super().__init__(inputs, encoder)
        self.local, self.whole = Mapped(width_of(encoder)), Mapped(width_of(encoder))

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """How badly nodes are told by their graphs."""
        graphs = members_of(batch)
        if batch.num_graphs < 2:  # nothing to be told from
            return {}
        h = self.joined(self.encoder(batch.x, batch.graph))
        scores = self.local(h) @ self.whole(batch.pool(h, self.encoder.settings.pooling)).T  # n × count
        own = torch.zeros_like(scores, dtype=torch.bool)
        own[torch.arange(len(h), device=h.device), graphs] = True
        below = softplus(-scores)
        joined = (math.log(2) - below)[own].mean()
        apart = (below + scores - math.log(2))[~own].mean()
        return {"told": apart - joined}
