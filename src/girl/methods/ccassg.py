"""CCA-SSG: two views agree in every column, and no column repeats another."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.kernel.checks import check_number
from girl.methods.augment import view
from girl.methods.encoder_method import EncoderMethod
from girl.nn.encoder import EncoderSettings


@dataclass(frozen=True)
class CCASSGSettings:
    """The views, and what correlated columns cost."""

    hide: float = 0.2
    """Share of the columns of the features hidden from each view."""
    drop: float = 0.3
    """Share of the edges that each view lacks."""
    decorrelation: float = 1e-3
    """Weight of the term that keeps columns from repeating each other."""

    def __post_init__(self) -> None:
        try:
            check_number("hide", self.hide, 0, 1)
            check_number("drop", self.drop, 0, 1)
            check_number("decorrelation", self.decorrelation, 0)
        except ValueError as error:
            raise InputError(str(error)) from error


class CCASSG(EncoderMethod):
    r"""Canonical correlation analysis inspired learning (Zhang et al., 2021).

    With the columns of both views' representations standardised, :math:`Z_1, Z_2` (n × k),

    .. math:: L = -\operatorname{tr}\frac{Z_1^\top Z_2}n
        + \lambda\sum_{v=1,2}\Bigl\|\frac{Z_v^\top Z_v}n - I\Bigr\|_F^2 .
    """

    passes = 3

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: CCASSGSettings) -> None:
        super().__init__(inputs, encoder)
        self.settings = settings

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """How far the views differ, and how far columns repeat each other; per column, so that both are below 2."""
        s, found = self.settings, []
        for _ in range(2):
            other = view(batch, s.hide, s.drop, generator)
            found.append(_standardised(self.encoder(other.x, other.graph)[-1]))
        n, width = found[0].shape
        identity = torch.eye(width, device=found[0].device)
        apart = torch.stack([(z.T @ z / n - identity).square().sum() for z in found]).sum()
        return {
            "difference": 1 - (found[0] * found[1]).sum() / (n * width),
            "repetition": s.decorrelation * apart / width,
        }


def _standardised(h: Tensor) -> Tensor:
    h = h - h.mean(0)
    return h / h.square().mean(0).sqrt().clamp(min=1e-6)
