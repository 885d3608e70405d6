"""DGI: a discriminator distinguishes the nodes of a graph from those of a shuffled one."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from girl.graph.batch import Batch
from girl.methods.augment import shuffle_features
from girl.methods.encoder_method import EncoderMethod
from girl.nn.encoder import EncoderSettings


@dataclass(frozen=True)
class DGISettings:
    """Deep Graph Infomax has no settings of its own."""


class DGI(EncoderMethod):
    r"""Deep Graph Infomax (Veličković et al., 2019).

    With a summary :math:`s = \sigma(\frac1n\sum_i h_i)` of the graph, a bilinear discriminator distinguishes its nodes
    :math:`h_i` from those of the same graph with shuffled features, :math:`\tilde h_i`:

    .. math:: L = -\frac1{2n}\sum_i \log\sigma(h_i^\top W s + b) + \log(1-\sigma(\tilde h_i^\top W s + b)).
    """

    passes = 2

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: DGISettings) -> None:
        super().__init__(inputs, encoder)
        self.discriminator = nn.Parameter(nn.init.xavier_uniform_(torch.empty(encoder.hidden, encoder.hidden)))
        self.bias = nn.Parameter(torch.zeros(()))

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """The discriminator's cross-entropy."""
        real = self.encoder(batch.x, batch.graph)[-1]
        shuffled = shuffle_features(batch, generator)
        fake = self.encoder(shuffled.x, shuffled.graph)[-1]
        summary = self.discriminator @ real.mean(0).sigmoid()
        scores = torch.cat([real @ summary, fake @ summary]) + self.bias
        truth = torch.cat([torch.ones(batch.num_nodes), torch.zeros(batch.num_nodes)]).to(scores.device)
        return {"discriminator": binary_cross_entropy_with_logits(scores, truth)}
