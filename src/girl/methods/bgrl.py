"""BGRL: one view's representation is predicted from the other, by a slowly moving copy of the encoder."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.kernel.checks import check_int, check_number
from girl.methods.augment import view
from girl.methods.encoder_method import EncoderMethod
from girl.nn.convolutions import Linear
from girl.nn.encoder import Encoder, EncoderSettings


@dataclass(frozen=True)
class BGRLSettings:
    """The two views, and how the copy follows."""

    hide_first: float = 0.1
    """Share of the columns of the features hidden from the first view."""
    hide_second: float = 0.2
    """Share of the columns of the features hidden from the second view."""
    drop_first: float = 0.4
    """Share of the edges that the first view lacks."""
    drop_second: float = 0.1
    """Share of the edges that the second view lacks."""
    momentum: float = 0.99
    """What the copy keeps of itself at a step, at first; it rises to 1."""
    predictor: int = 512
    """Width of the predictor."""

    def __post_init__(self) -> None:
        try:
            for name in ("hide_first", "hide_second", "drop_first", "drop_second"):
                check_number(name, getattr(self, name), 0, 1)
            check_number("momentum", self.momentum, 0, 1)
            check_int("predictor", self.predictor, 1)
        except ValueError as error:
            raise InputError(str(error)) from error


class BGRL(EncoderMethod):
    r"""Bootstrapped Graph Latents (Thakoor et al., 2022).

    With :math:`h` of the encoder, :math:`\bar h` of its copy and a predictor q, over two views of the graph,

    .. math:: L = 2 - \frac1n\sum_i \cos(q(h^1_i), \bar h^2_i) + \cos(q(h^2_i), \bar h^1_i).

    No gradient reaches the copy: after each step it moves towards the encoder,
    :math:`\bar w \leftarrow m\bar w + (1-m)w`, with :math:`m = 1-(1-m_0)(1+\cos\pi t)/2` at the share t of training. It
    starts from weights of its own, as the authors' program does.
    """

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: BGRLSettings) -> None:
        super().__init__(inputs, encoder)
        self.settings = settings
        self.copy = Encoder(inputs, encoder).requires_grad_(False)
        width = settings.predictor
        self.predictor = nn.Sequential(Linear(encoder.hidden, width), nn.PReLU(), Linear(width, encoder.hidden))

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """The loss of predicting each view from the other."""
        s = self.settings
        views = (
            view(batch, s.hide_first, s.drop_first, generator),
            view(batch, s.hide_second, s.drop_second, generator),
        )
        predicted = [self.predictor(self.encoder(one.x, one.graph)[-1]) for one in views]
        with torch.no_grad():
            wanted = [self.copy(one.x, one.graph)[-1] for one in views]
        found = cosine_similarity(predicted[0], wanted[1]).mean() + cosine_similarity(predicted[1], wanted[0]).mean()
        return {"bootstrap": 2 - found}

    @torch.no_grad()
    def after_step(self, share: float) -> None:
        """Let the copy follow."""
        keep = 1 - (1 - self.settings.momentum) * (1 + math.cos(math.pi * share)) / 2
        for ours, theirs in zip(self.copy.parameters(), self.encoder.parameters(), strict=True):
            ours.lerp_(theirs, 1 - keep)
