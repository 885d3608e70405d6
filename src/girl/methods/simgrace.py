"""SimGRACE: GraphCL whose second view comes from a perturbed encoder instead of an augmented graph."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import functional_call

from girl.graph.batch import Batch
from girl.kernel.checks import check_number
from girl.methods.augment import graph_index
from girl.methods.encoder_method import EncoderMethod
from girl.methods.graphcl import graph_contrast, projector
from girl.nn.encoder import EncoderSettings
from girl.settings import checking


@dataclass(frozen=True)
class SimGRACESettings:
    """How far the encoder is perturbed, and how graphs are compared."""

    eta: float = 1.0
    """η: standard deviation of the noise added to each weight tensor, relative to the tensor's own."""
    temperature: float = 0.2
    """Cosines are divided by it."""

    def __post_init__(self) -> None:
        with checking():
            check_number("eta", self.eta, 0)
            check_number("temperature", self.temperature, 0, low_open=True)


class SimGRACE(EncoderMethod):
    r"""Graph contrastive learning without augmentations (Xia et al., 2022).

    The second view of a graph comes from an encoder with weights :math:`w' = w + \eta\,\epsilon`,
    :math:`\epsilon\sim N(0,\operatorname{var} w)`, drawn at each step. It has no gradient, as in the authors' code. The
    loss is that of GraphCL.
    """

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: SimGRACESettings) -> None:
        super().__init__(inputs, encoder)
        self.settings = settings
        self.projector = projector(encoder.width)

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """The contrastive loss between the encoder and a perturbed copy; a single graph has no negatives."""
        graph_index(batch)
        if batch.num_graphs < 2:
            return {}
        clean = self.projector(self.embed_graphs(batch))
        with torch.no_grad():
            perturbed = self.projector(self._embed_perturbed(batch, generator))
        return {"contrast": graph_contrast(perturbed, clean, self.settings.temperature)}

    def _embed_perturbed(self, batch: Batch, generator: torch.Generator) -> Tensor:
        weights: dict[str, Tensor] = {}
        for name, weight in self.encoder.named_parameters():
            noise = torch.randn(weight.shape, generator=generator, device=weight.device)
            std = weight.std() if weight.numel() > 1 else weight.new_zeros(())
            weights[name] = weight + self.settings.eta * std * noise
        # The running statistics of batch norm must stay those of the encoder itself.
        weights |= {name: buffer.clone() for name, buffer in self.encoder.named_buffers()}
        layers = functional_call(self.encoder, weights, (batch.x, batch.graph))
        return batch.pool(self.combine_layers(layers), self.encoder.settings.pooling)
