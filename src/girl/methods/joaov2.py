"""JOAOv2: JOAO with a projector for each augmentation."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from girl.methods.augment import WAYS
from girl.methods.graphcl import projector, width_of
from girl.methods.joao import JOAO, JOAOSettings
from girl.nn.encoder import EncoderSettings


@dataclass(frozen=True)
class JOAOv2Settings(JOAOSettings):
    """As JOAO."""


class JOAOv2(JOAO):
    """JOAO with a projector for each way (You et al., 2021), so that a way's traces do not reach the representation.

    The graph as it is goes through that of the way "identity" where there is one, else through the first.
    """

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: JOAOv2Settings) -> None:
        super().__init__(inputs, encoder, settings)
        del self.projector
        self.projectors = nn.ModuleList(projector(width_of(encoder)) for _ in settings.augmentations)

    def project(self, h: Tensor, way: Tensor | None) -> Tensor:
        """The output of each way's projector."""
        known = [WAYS.index(one) for one in self.settings.augmentations]
        same = WAYS.index("identity")
        if way is None:
            found: Tensor = self.projectors[known.index(same) if same in known else 0](h)
            return found
        out = h.new_zeros(h.shape)
        for index, one in zip(known, self.projectors, strict=True):
            rows = torch.nonzero(way == index).flatten()
            if len(rows):
                out = out.index_copy(0, rows, one(h[rows]))
        return out
