"""JOAO: GraphCL that learns which augmentations to use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from girl.graph.batch import Batch
from girl.kernel.checks import check_number
from girl.methods.augment import AUGMENTATIONS, Augmentation
from girl.methods.graphcl import GraphCL, GraphCLSettings
from girl.nn.encoder import EncoderSettings
from girl.settings import checking


@dataclass(frozen=True)
class JOAOSettings(GraphCLSettings):
    """As GraphCL, with learned probabilities of the augmentations."""

    augmentations: tuple[Augmentation, ...] = AUGMENTATIONS
    """Augmentations to draw from: nodes, edges (some are removed), subgraph, features (some become noise), identity."""
    drop_rate: float = 0.2
    """Fraction of the nodes, edges or features that is removed or replaced."""
    subgraph_rate: float = 0.8
    """Fraction of the nodes that is left in a subgraph."""
    gamma: float = 0.1
    """γ: how strongly the probabilities are drawn to the uniform ones."""

    def __post_init__(self) -> None:
        super().__post_init__()
        with checking():
            check_number("gamma", self.gamma, 0)


class JOAO(GraphCL):
    r"""Joint augmentation optimisation (You et al., 2021): GraphCL with learned probabilities p of m augmentations.

    After each epoch, with the mean loss :math:`\ell` of each augmentation on a part 1/m of the batches,

    .. math:: p \leftarrow \Pi\bigl(p + \ell - \gamma(p - \tfrac1m)\bigr),

    Π the projection onto the simplex: augmentations with a higher loss are drawn more often.
    """

    probabilities: Tensor

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: JOAOSettings) -> None:
        super().__init__(inputs, encoder, settings)
        self.gamma = settings.gamma
        count = len(settings.augmentations)
        self.register_buffer("probabilities", torch.full((count,), 1 / count))

    def _draw(self, batch: Batch, generator: torch.Generator) -> Tensor:
        draw = torch.multinomial(self.probabilities, batch.num_graphs, replacement=True, generator=generator)
        return self._allowed(batch.x.device)[draw]

    @torch.no_grad()
    def after_epoch(self, batches: Callable[[], Iterator[Batch]], generator: torch.Generator) -> None:
        """Move the probabilities towards augmentations with a high loss."""
        p = self.probabilities
        epoch = list(batches())
        sample = [batch for batch in epoch[: len(epoch) // len(p) + 1] if batch.num_graphs > 1]
        if not sample:
            return
        losses = []
        for augmentation in self._allowed(p.device):
            choices = [augmentation.repeat(batch.num_graphs) for batch in sample]
            pairs = zip(sample, choices, strict=True)
            losses.append(torch.stack([self._contrast(batch, choice, generator) for batch, choice in pairs]).mean())
        p.copy_(project_to_simplex(p + torch.stack(losses) - self.gamma * (p - 1 / len(p))))


def project_to_simplex(v: Tensor) -> Tensor:
    """The point nearest to v whose entries are not negative and sum to 1 (Duchi et al., 2008)."""
    ordered = v.sort(descending=True).values
    excess = ordered.cumsum(0) - 1
    count = torch.arange(1, len(v) + 1, device=v.device)
    last = int(torch.nonzero(ordered - excess / count > 0).max())
    return (v - excess[last] / (last + 1)).clamp(min=0)
