"""GraphCL: a graph is told from others by an augmented copy of itself."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.kernel.checks import check_choice, check_number
from girl.methods.augment import WAYS, Way, augmented, members_of
from girl.methods.encoder_method import EncoderMethod
from girl.nn.convolutions import Linear
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
        if batch.num_graphs < 2:  # nothing to be told from
            return {}
        return {"contrast": self._contrast(batch, self._ways(batch, generator), generator)}

    def _ways(self, batch: Batch, generator: torch.Generator) -> Tensor:
        """A way for each graph, as its place in WAYS."""
        known = torch.tensor([WAYS.index(way) for way in self.settings.ways], device=batch.x.device)
        draw = torch.randint(len(known), (batch.num_graphs,), generator=generator, device=batch.x.device)
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
