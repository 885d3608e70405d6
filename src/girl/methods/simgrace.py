"""SimGRACE: a graph is told from others by what a disturbed encoder makes of it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import functional_call

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.kernel.checks import check_number
from girl.methods.augment import members_of
from girl.methods.encoder_method import EncoderMethod
from girl.methods.graphcl import projector, told_apart, width_of
from girl.nn.encoder import EncoderSettings


@dataclass(frozen=True)
class SimGRACESettings:
    """How far the encoder is disturbed, and how strictly graphs are compared."""

    disturbance: float = 1.0
    """η: the spread of what is added to each weight, as a share of the weights' own."""
    temperature: float = 0.2
    """By what the cosines are divided."""

    def __post_init__(self) -> None:
        try:
            check_number("disturbance", self.disturbance, 0)
            check_number("temperature", self.temperature, 0, low_open=True)
        except ValueError as error:
            raise InputError(str(error)) from error


class SimGRACE(EncoderMethod):
    r"""A simple framework without augmentations (Xia et al., 2022).

    The second view of a graph is that of an encoder with :math:`w' = w + \eta\,\epsilon`,
    :math:`\epsilon\sim N(0,\operatorname{var} w)`, drawn at each step, through which no gradient flows, as in the
    authors' program. The contrast is that of GraphCL.
    """

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: SimGRACESettings) -> None:
        super().__init__(inputs, encoder)
        self.settings = settings
        self.projector = projector(width_of(encoder))

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """The contrast of graphs with what the disturbed encoder makes of them."""
        members_of(batch)
        if batch.num_graphs < 2:  # nothing to be told from
            return {}
        clean = self.projector(self.read(batch))
        with torch.no_grad():
            disturbed = self.projector(self._disturbed(batch, generator))
        return {"contrast": told_apart(disturbed, clean, self.settings.temperature)}

    def _disturbed(self, batch: Batch, generator: torch.Generator) -> Tensor:
        weights: dict[str, Tensor] = {}
        for name, weight in self.encoder.named_parameters():
            noise = torch.randn(weight.shape, generator=generator, device=weight.device)
            spread = weight.std() if weight.numel() > 1 else weight.new_zeros(())
            weights[name] = weight + self.settings.disturbance * spread * noise
        # What batch norm has seen must stay that of the encoder itself.
        weights |= {name: buffer.clone() for name, buffer in self.encoder.named_buffers()}
        layers = functional_call(self.encoder, weights, (batch.x, batch.graph))
        return batch.pool(self.joined(layers), self.encoder.settings.pooling)
