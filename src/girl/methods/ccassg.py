"""CCA-SSG: two views agree in every column, and columns are decorrelated."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from girl.graph.batch import Batch
from girl.kernel.checks import check_number
from girl.methods.augment import random_view
from girl.methods.encoder_method import EncoderMethod
from girl.nn.encoder import EncoderSettings
from girl.settings import checking


@dataclass(frozen=True)
class CCASSGSettings:
    """The views, and the weight of decorrelation."""

    drop_features: float = 0.2
    """Fraction of the feature columns dropped from each view."""
    drop_edges: float = 0.3
    """Fraction of the edges dropped from each view."""
    decorrelation: float = 1e-3
    """λ: the weight of the decorrelation term."""

    def __post_init__(self) -> None:
        with checking():
            check_number("drop_features", self.drop_features, 0, 1)
            check_number("drop_edges", self.drop_edges, 0, 1)
            check_number("decorrelation", self.decorrelation, 0)


class CCASSG(EncoderMethod):
    r"""Learning inspired by canonical correlation analysis (Zhang et al., 2021).

    With the columns of both views' outputs standardised, :math:`Z_1, Z_2` (n × k),

    .. math:: L = -\operatorname{tr}\frac{Z_1^\top Z_2}n
        + \lambda\sum_{v=1,2}\Bigl\|\frac{Z_v^\top Z_v}n - I\Bigr\|_F^2 ,

    here divided by k, and with 1 added to the first term.
    """

    passes = 3

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: CCASSGSettings) -> None:
        super().__init__(inputs, encoder)
        self.settings = settings

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """The difference of the views, and the correlation of the columns."""
        s, outputs = self.settings, []
        for _ in range(2):
            view = random_view(batch, s.drop_features, s.drop_edges, generator)
            outputs.append(_standardize(self.encoder(view.x, view.graph)[-1]))
        first, second = outputs
        n, width = first.shape
        identity = torch.eye(width, device=first.device)
        correlation = torch.stack([(z.T @ z / n - identity).square().sum() for z in outputs]).sum()
        return {
            "difference": 1 - (first * second).sum() / (n * width),
            "correlation": s.decorrelation * correlation / width,
        }


def _standardize(h: Tensor) -> Tensor:
    h = h - h.mean(0)
    return h / h.square().mean(0).sqrt().clamp(min=1e-6)
