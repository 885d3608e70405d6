"""BGRL: one view is predicted from the other; the target is a slowly moving copy of the encoder."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from girl.graph.batch import Batch
from girl.kernel.checks import check_int, check_number
from girl.methods.augment import random_view
from girl.methods.encoder_method import EncoderMethod
from girl.nn.convolutions import Linear
from girl.nn.encoder import Encoder, EncoderSettings
from girl.settings import checking


@dataclass(frozen=True)
class BGRLSettings:
    """The two views, and the target encoder."""

    drop_features_1: float = 0.1
    """Fraction of the feature columns dropped from the first view."""
    drop_features_2: float = 0.2
    """Fraction of the feature columns dropped from the second view."""
    drop_edges_1: float = 0.4
    """Fraction of the edges dropped from the first view."""
    drop_edges_2: float = 0.1
    """Fraction of the edges dropped from the second view."""
    momentum: float = 0.99
    """Initial momentum of the target encoder; it rises to 1."""
    predictor_hidden: int = 512
    """Hidden width of the predictor."""

    def __post_init__(self) -> None:
        with checking():
            for name in ("drop_features_1", "drop_features_2", "drop_edges_1", "drop_edges_2", "momentum"):
                check_number(name, getattr(self, name), 0, 1)
            check_int("predictor_hidden", self.predictor_hidden, 1)


class BGRL(EncoderMethod):
    r"""Bootstrapped Graph Latents (Thakoor et al., 2022).

    With outputs :math:`h` of the encoder, :math:`\bar h` of the target encoder and a predictor q, over two views,

    .. math:: L = 2 - \frac1n\sum_i \cos(q(h^1_i), \bar h^2_i) + \cos(q(h^2_i), \bar h^1_i).

    The target encoder has no gradient: after each step it moves towards the encoder,
    :math:`\bar w \leftarrow m\bar w + (1-m)w`, with :math:`m = 1-(1-m_0)(1+\cos\pi t)/2` at the fraction t of training.
    It starts from weights of its own, as in the authors' code.
    """

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: BGRLSettings) -> None:
        super().__init__(inputs, encoder)
        self.settings = settings
        self.target_encoder = Encoder(inputs, encoder).requires_grad_(False)
        width = settings.predictor_hidden
        self.predictor = nn.Sequential(Linear(encoder.hidden, width), nn.PReLU(), Linear(width, encoder.hidden))

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """The loss of predicting each view from the other."""
        s = self.settings
        views = (
            random_view(batch, s.drop_features_1, s.drop_edges_1, generator),
            random_view(batch, s.drop_features_2, s.drop_edges_2, generator),
        )
        predicted = [self.predictor(self.encoder(view.x, view.graph)[-1]) for view in views]
        with torch.no_grad():
            target = [self.target_encoder(view.x, view.graph)[-1] for view in views]
        cosines = cosine_similarity(predicted[0], target[1]).mean() + cosine_similarity(predicted[1], target[0]).mean()
        return {"bootstrap": 2 - cosines}

    @torch.no_grad()
    def after_step(self, progress: float) -> None:
        """Move the target encoder towards the encoder."""
        momentum = 1 - (1 - self.settings.momentum) * (1 + math.cos(math.pi * progress)) / 2
        for target, online in zip(self.target_encoder.parameters(), self.encoder.parameters(), strict=True):
            target.lerp_(online, 1 - momentum)
