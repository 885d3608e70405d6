"""JOAOv2: JOAO with a projector for each augmentation."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from girl.methods.graphcl import projector
from girl.methods.joao import JOAO, JOAOSettings
from girl.nn.encoder import EncoderSettings


@dataclass(frozen=True)
class JOAOv2Settings(JOAOSettings):
    """As JOAO."""


class JOAOv2(JOAO):
    """JOAO with a projector for each augmentation (You et al., 2021), which absorbs that augmentation's effects.

    Unchanged graphs go through the projector of "identity" if it is used, else through the first.
    """

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: JOAOv2Settings) -> None:
        super().__init__(inputs, encoder, settings)
        del self.projector
        self.projectors = nn.ModuleList(projector(encoder.width) for _ in settings.augmentations)

    def project(self, h: Tensor, choice: Tensor | None) -> Tensor:
        """The output of the projector of each graph's augmentation (count × k)."""
        names = self.settings.augmentations
        if choice is None:
            projected: Tensor = self.projectors[names.index("identity") if "identity" in names else 0](h)
            return projected
        out = h.new_zeros(h.shape)
        for augmentation, network in zip(self._allowed(h.device), self.projectors, strict=True):
            rows = torch.nonzero(choice == augmentation).flatten()
            if len(rows):
                out = out.index_copy(0, rows, network(h[rows]))
        return out
