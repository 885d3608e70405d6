"""GraphCL, JOAO and JOAOv2: a graph is told from others by an augmented copy of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor, nn
from torch.nn import functional

from girl.errors import InputError
from girl.kernel.check import check_choice, check_number
from girl.methods.base import Batch
from girl.methods.encoded import EncoderMethod
from girl.methods.views import WAYS, Way, augmented, members_of
from girl.nn.convolution import Linear
from girl.nn.encoder import EncoderSettings


@dataclass(frozen=True)
class GraphCLSettings:
    """How graphs are augmented, and how strictly they are compared."""

    ways: tuple[Way, ...] = ("nodes", "subgraph")
    """What may happen to a graph: nodes or edges are lost, a subgraph is left, features are random, or nothing."""
    share: float = 0.1
    """Share of the nodes, edges or features that are lost."""
    kept: float = 0.2
    """Share of the nodes that are left in a subgraph."""
    temperature: float = 0.2
    """By what the cosines are divided."""

    def __post_init__(self) -> None:
        try:
            if not self.ways:
                raise ValueError(f"ways: given none, expected one or more of {', '.join(WAYS)}")
            for way in self.ways:
                check_choice("ways", way, WAYS)
            check_number("share", self.share, 0, 1)
            check_number("kept", self.kept, 0, 1, low_open=True)
            check_number("temperature", self.temperature, 0, low_open=True)
        except ValueError as error:
            raise InputError(str(error)) from error


def told_apart(anchor: Tensor, other: Tensor, temperature: float) -> Tensor:
    r"""The contrast of graphs with their other views (both count × k), as GraphCL and its followers compute it.

    .. math:: -\frac1n\sum_i\log\frac{e^{\theta(u_i,v_i)/\tau}}{\sum_{k\ne i}e^{\theta(u_i,v_k)/\tau}},

    θ the cosine. A graph itself is not in the denominator.
    """
    likeness = functional.normalize(anchor) @ functional.normalize(other).T / temperature
    own = likeness.diagonal()
    others = likeness.masked_fill(torch.eye(len(own), dtype=torch.bool, device=own.device), -torch.inf)
    return (others.logsumexp(1) - own).mean()


def projector(width: int) -> nn.Module:
    """Two layers of the width of what they map."""
    return nn.Sequential(Linear(width, width), nn.ReLU(), Linear(width, width))


def width_of(encoder: EncoderSettings) -> int:
    """Columns of a graph's representation before the features beside it."""
    return encoder.hidden * (encoder.layers if encoder.output == "layers" else 1)


class GraphCL(EncoderMethod):
    """Graph contrastive learning with augmentations (You et al., 2020), as the authors' program for sets of graphs.

    The graph as it is is compared with one augmented copy; its way is drawn for each graph, all alike.
    """

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: GraphCLSettings) -> None:
        super().__init__(inputs, encoder)
        self.settings = settings
        self.projector = projector(width_of(encoder))

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """The contrast of graphs with their augmented copies."""
        members_of(batch)
        if batch.count < 2:  # nothing to be told from
            return {}
        return {"contrast": self._contrast(batch, self._ways(batch, generator), generator)}

    def _ways(self, batch: Batch, generator: torch.Generator) -> Tensor:
        """A way for each graph, as its place in WAYS."""
        known = torch.tensor([WAYS.index(way) for way in self.settings.ways], device=batch.x.device)
        draw = torch.randint(len(known), (batch.count,), generator=generator, device=batch.x.device)
        return known[draw]

    def _contrast(self, batch: Batch, way: Tensor, generator: torch.Generator) -> Tensor:
        s = self.settings
        other = augmented(batch, way, s.share, s.kept, generator)
        anchor, view = self.project(self.read(batch), None), self.project(self.read(other), way)
        return told_apart(anchor, view, s.temperature)

    def project(self, h: Tensor, way: Tensor | None) -> Tensor:
        """What is compared: the projector's output, whatever the way."""
        found: Tensor = self.projector(h)
        return found


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
        return known[torch.multinomial(self.chances, batch.count, replacement=True, generator=generator)]

    @torch.no_grad()
    def after_epoch(self, batches: Callable[[], Iterator[Batch]], generator: torch.Generator) -> None:
        """Move the chances towards the ways that are hard."""
        some = list(batches())
        some = [batch for batch in islice(some, len(some) // len(self.chances) + 1) if batch.count > 1]
        if not some:
            return
        losses = []
        for way in self.settings.ways:
            same = [torch.full((batch.count,), WAYS.index(way), device=batch.x.device) for batch in some]
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


@dataclass(frozen=True)
class JOAOv2Settings(JOAOSettings):
    """As JOAO."""


class JOAOv2(JOAO):
    """JOAO with a projector for each way (You et al., 2021), so that a way's traces do not reach the representation.

    The graph as it is goes through that of the way "same" where there is one, else through the first.
    """

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: JOAOv2Settings) -> None:
        super().__init__(inputs, encoder, settings)
        del self.projector
        self.projectors = nn.ModuleList(projector(width_of(encoder)) for _ in settings.ways)

    def project(self, h: Tensor, way: Tensor | None) -> Tensor:
        """The output of each way's projector."""
        known = [WAYS.index(one) for one in self.settings.ways]
        same = WAYS.index("same")
        if way is None:
            found: Tensor = self.projectors[known.index(same) if same in known else 0](h)
            return found
        out = h.new_zeros(h.shape)
        for index, one in zip(known, self.projectors, strict=True):
            rows = torch.nonzero(way == index).flatten()
            if len(rows):
                out = out.index_copy(0, rows, one(h[rows]))
        return out
