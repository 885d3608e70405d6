"""JOAO: GraphCL that learns which augmentations to use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.kernel.checks import check_number
from girl.methods.augment import WAYS, Way
from girl.methods.graphcl import GraphCL, GraphCLSettings
from girl.nn.encoder import EncoderSettings


@dataclass(frozen=True)
class JOAOSettings(GraphCLSettings):
    """As GraphCL, with ways whose chances are learned."""

    ways: tuple[Way, ...] = WAYS
    """What may happen to a graph: nodes or edges are lost, a subgraph is left, features are random, or nothing."""
    share: float = 0.2
    """Share of the nodes, edges or features that are lost."""
    kept: float = 0.8
    """Share of the nodes that are left in a subgraph."""
    evenness: float = 0.1
    """γ: what keeps the chances from leaving the even ones."""

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            check_number("evenness", self.evenness, 0)
        except ValueError as error:
            raise InputError(str(error)) from error


class JOAO(GraphCL):
    r"""Joint augmentation optimisation (You et al., 2021): GraphCL whose ways are drawn with learned chances p.

    After each epoch, with the mean loss :math:`\ell` of each way on a fifth of the graphs,

    .. math:: p \leftarrow \Pi\bigl(p + \ell - \gamma(p - \tfrac1m)\bigr),

    Π the nearest point of the simplex: ways that are harder are drawn more often.
    """

    chances: Tensor

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: JOAOSettings) -> None:
        super().__init__(inputs, encoder, settings)
        self.evenness = settings.evenness
        count = len(settings.ways)
        self.register_buffer("chances", torch.full((count,), 1 / count))

    def _ways(self, batch: Batch, generator: torch.Generator) -> Tensor:
        known = torch.tensor([WAYS.index(way) for way in self.settings.ways], device=batch.x.device)
        return known[torch.multinomial(self.chances, batch.num_graphs, replacement=True, generator=generator)]

    @torch.no_grad()
    def after_epoch(self, batches: Callable[[], Iterator[Batch]], generator: torch.Generator) -> None:
        """Move the chances towards the ways that are hard."""
        some = list(batches())
        some = [batch for batch in islice(some, len(some) // len(self.chances) + 1) if batch.num_graphs > 1]
        if not some:
            return
        losses = []
        for way in self.settings.ways:
            same = [torch.full((batch.num_graphs,), WAYS.index(way), device=batch.x.device) for batch in some]
            found = [self._contrast(batch, one, generator) for batch, one in zip(some, same, strict=True)]
            losses.append(torch.stack(found).mean())
        even = 1 / len(self.chances)
        self.chances.copy_(on_simplex(self.chances + torch.stack(losses) - self.evenness * (self.chances - even)))


def on_simplex(v: Tensor) -> Tensor:
    """The nearest point to v whose entries are not negative and sum to 1 (Duchi et al., 2008)."""
    ordered = v.sort(descending=True).values
    excess = ordered.cumsum(0) - 1
    count = torch.arange(1, len(v) + 1, device=v.device)
    last = int(torch.nonzero(ordered - excess / count > 0).max())
    return (v - excess[last] / (last + 1)).clamp(min=0)
