"""Graph Group Discrimination: the group of real nodes is told from that of shuffled ones, node by node."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.kernel.checks import check_int, check_number
from girl.methods.augment import corrupted, view
from girl.methods.encoder_method import EncoderMethod
from girl.nn.convolutions import Linear
from girl.nn.encoder import EncoderSettings


@dataclass(frozen=True)
class GGDSettings:
    """How features are hidden, and how far representations are spread at the end."""

    hide: float = 0.2
    """Share of the columns of the features hidden at each step."""
    reach: int = 5
    """Propagations of the representations that are added to them at the end; 0: none."""

    def __post_init__(self) -> None:
        try:
            check_number("hide", self.hide, 0, 1)
            check_int("reach", self.reach, 0)
        except ValueError as error:
            raise InputError(str(error)) from error


class GGD(EncoderMethod):
    r"""Graph Group Discrimination (Zheng et al., 2022).

    As Deep Graph Infomax without a summary: a node's score is the sum of a linear map of its representation,
    :math:`1^\top W h_i`, by which real nodes and those with shuffled features are told apart. Representations are
    :math:`H + \hat A^k H`.
    """

    passes = 2

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: GGDSettings) -> None:
        super().__init__(inputs, encoder)
        self.settings = settings
        self.head = Linear(encoder.hidden, encoder.hidden)

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """The cross-entropy of telling the groups apart."""
        seen = view(batch, self.settings.hide, 0.0, generator)
        groups = (seen, corrupted(seen, generator))
        scores = [self.head(self.encoder(group.x, group.graph)[-1]).sum(1) for group in groups]
        truth = torch.cat([torch.ones(batch.num_nodes), torch.zeros(batch.num_nodes)]).to(scores[0].device)
        return {"groups": binary_cross_entropy_with_logits(torch.cat(scores), truth)}

    @torch.no_grad()
    def spread(self, layer: Tensor, whole: Batch) -> Tensor:
        """H + ÂᵏH."""
        z = layer
        for _ in range(self.settings.reach):
            z = whole.graph.gcn @ z
        return layer + z if self.settings.reach else layer
