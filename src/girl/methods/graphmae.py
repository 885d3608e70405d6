"""GraphMAE: the features of hidden nodes are rebuilt from what their surroundings say."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.kernel.checks import check_number
from girl.methods.encoder_method import EncoderMethod
from girl.nn.convolutions import Linear, convolution
from girl.nn.encoder import EncoderSettings


@dataclass(frozen=True)
class GraphMAESettings:
    """What is hidden, and how a rebuilt row is judged."""

    mask: float = 0.5
    """Share of the nodes whose features are hidden at each step."""
    noise: float = 0.05
    """Share of those that see another node's features instead."""
    sharpness: float = 3.0
    """γ: the power of the cosine error; above 1, what is nearly right counts less."""
    dropout: float = 0.2
    """Share of the remaining features hidden from the encoder at each step."""

    def __post_init__(self) -> None:
        try:
            check_number("mask", self.mask, 0, 1, low_open=True)
            check_number("noise", self.noise, 0, 1)
            check_number("sharpness", self.sharpness, 1)
            check_number("dropout", self.dropout, 0, 1)
        except ValueError as error:
            raise InputError(str(error)) from error


class GraphMAE(EncoderMethod):
    r"""Masked graph autoencoder (Hou et al., 2022).

    Some nodes M are hidden: a learned token stands for their features, or for a few another node's features. The
    encoder's representations are mapped, those of M are hidden *again*, by zeros, and a decoder of one message-passing
    layer rebuilds the features of M from its neighbours:

    .. math:: L = \frac1{|M|}\sum_{i\in M}\bigl(1-\cos(x_i, \hat x_i)\bigr)^\gamma .

    The decoder is a layer of the encoder's kind; with attention, of one head.
    """

    passes = 2

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: GraphMAESettings) -> None:
        super().__init__(inputs, encoder)
        self.settings = settings
        self.token = nn.Parameter(torch.zeros(inputs))
        self.between = Linear(encoder.hidden, encoder.hidden, bias=False)
        self.decoder = convolution(encoder.conv, encoder.hidden, inputs, 1, encoder.hops, encoder.teleport)

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """The scaled cosine error of the hidden nodes."""
        s, n = self.settings, batch.num_nodes
        device = batch.x.device
        hidden = torch.randperm(n, generator=generator, device=device)[: max(int(s.mask * n), 1)]
        replaced, tokens = hidden.tensor_split([int(s.noise * len(hidden))])
        seen = batch.x
        if len(replaced):
            order = torch.arange(n, device=device)
            order[replaced] = torch.randint(n, (len(replaced),), generator=generator, device=device)
            seen = seen.rows(order)
        seen = seen.dropout(s.dropout, generator).mask_rows(tokens, self.token)
        code = self.between(self.encoder(seen, batch.graph)[-1])
        code = code.index_fill(0, hidden, 0.0)
        rebuilt = self.decoder(code, batch.graph, hidden)
        error = 1 - cosine_similarity(rebuilt, batch.x.dense(hidden))
        return {"rebuilt": error.clamp(min=0).pow(s.sharpness).mean()}
