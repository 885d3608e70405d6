"""GraphMAE: the features of masked nodes are reconstructed from their neighbourhood."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from girl.graph.batch import Batch
from girl.kernel.checks import check_number
from girl.methods.encoder_method import EncoderMethod
from girl.nn.convolutions import Linear, convolution
from girl.nn.encoder import EncoderSettings
from girl.settings import checking


@dataclass(frozen=True)
class GraphMAESettings:
    """What is masked, and the reconstruction error."""

    mask_rate: float = 0.5
    """Fraction of the nodes whose features are masked at each step."""
    replace_rate: float = 0.05
    """Fraction of the masked nodes that get the features of another node instead of the mask token."""
    gamma: float = 3.0
    """γ: the power of the cosine error; above 1, easy nodes count less."""
    dropout: float = 0.2
    """Fraction of the remaining features dropped at each step."""

    def __post_init__(self) -> None:
        with checking():
            check_number("mask_rate", self.mask_rate, 0, 1, low_open=True)
            check_number("replace_rate", self.replace_rate, 0, 1)
            check_number("gamma", self.gamma, 1)
            check_number("dropout", self.dropout, 0, 1)


class GraphMAE(EncoderMethod):
    r"""Masked graph autoencoder (Hou et al., 2022).

    The features of some nodes M are replaced by a learned token, or for a few of them by another node's features. The
    encoder's outputs are mapped linearly, those of M are masked *again*, by zeros, and a decoder of one message-passing
    layer reconstructs the features of M from their neighbours:

    .. math:: L = \frac1{|M|}\sum_{i\in M}\bigl(1-\cos(x_i, \hat x_i)\bigr)^\gamma .

    The decoder is a layer of the encoder's kind; with attention, of one head.
    """

    passes = 2

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: GraphMAESettings) -> None:
        super().__init__(inputs, encoder)
        self.settings = settings
        self.token = nn.Parameter(torch.zeros(inputs))
        self.encoder_to_decoder = Linear(encoder.hidden, encoder.hidden, bias=False)
        self.decoder = convolution(encoder.conv, encoder.hidden, inputs, 1, encoder.hops, encoder.teleport)

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """The scaled cosine error of the masked nodes."""
        s, n = self.settings, batch.num_nodes
        device = batch.x.device
        masked = torch.randperm(n, generator=generator, device=device)[: max(int(s.mask_rate * n), 1)]
        replaced, tokens = masked.tensor_split([int(s.replace_rate * len(masked))])
        x = batch.x
        if len(replaced):
            order = torch.arange(n, device=device)
            order[replaced] = torch.randint(n, (len(replaced),), generator=generator, device=device)
            x = x.rows(order)
        x = x.dropout(s.dropout, generator).mask_rows(tokens, self.token)
        code = self.encoder_to_decoder(self.encoder(x, batch.graph)[-1])
        reconstructed = self.decoder(code.index_fill(0, masked, 0.0), batch.graph, masked)
        error = 1 - cosine_similarity(reconstructed, batch.x.dense(masked))
        return {"reconstruction": error.clamp(min=0).pow(s.gamma).mean()}
