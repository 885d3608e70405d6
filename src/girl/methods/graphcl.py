"""GraphCL: a graph is pulled towards an augmented copy of itself, and pushed apart from other graphs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from girl.graph.batch import Batch
from girl.kernel.checks import check_choice, check_number
from girl.methods.augment import AUGMENTATIONS, Augmentation, augment, graph_index
from girl.methods.encoder_method import EncoderMethod
from girl.nn.convolutions import Linear
from girl.nn.encoder import EncoderSettings
from girl.settings import checking


@dataclass(frozen=True)
class GraphCLSettings:
    """How graphs are augmented and compared."""

    augmentations: tuple[Augmentation, ...] = ("nodes", "subgraph")
    """Augmentations to draw from: nodes, edges (some are removed), subgraph, features (some become noise), identity."""
    drop_rate: float = 0.1
    """Fraction of the nodes, edges or features that is removed or replaced."""
    subgraph_rate: float = 0.2
    """Fraction of the nodes that is left in a subgraph."""
    temperature: float = 0.2
    """Cosines are divided by it."""

    def __post_init__(self) -> None:
        with checking():
            if not self.augmentations:
                raise ValueError(f"augmentations: given none, expected one or more of {', '.join(AUGMENTATIONS)}")
            for augmentation in self.augmentations:
                check_choice("augmentations", augmentation, AUGMENTATIONS)
            check_number("drop_rate", self.drop_rate, 0, 1)
            check_number("subgraph_rate", self.subgraph_rate, 0, 1, low_open=True)
            check_number("temperature", self.temperature, 0, low_open=True)


def graph_contrast(anchor: Tensor, view: Tensor, temperature: float) -> Tensor:
    r"""The contrastive loss of graphs and their views (both count × k), as in GraphCL and the methods built on it.

    .. math:: -\frac1n\sum_i\log\frac{e^{\theta(u_i,v_i)/\tau}}{\sum_{k\ne i}e^{\theta(u_i,v_k)/\tau}},

    θ the cosine. The positive pair is not in the denominator.
    """
    similarity = functional.normalize(anchor) @ functional.normalize(view).T / temperature
    positive = similarity.diagonal()
    itself = torch.eye(len(positive), dtype=torch.bool, device=positive.device)
    return (similarity.masked_fill(itself, -torch.inf).logsumexp(1) - positive).mean()


def projector(width: int) -> nn.Module:
    """Two linear layers with a ReLU between them, all of the same width."""
    return nn.Sequential(Linear(width, width), nn.ReLU(), Linear(width, width))


class GraphCL(EncoderMethod):
    """Graph contrastive learning with augmentations (You et al., 2020), as in the authors' code for sets of graphs.

    Each graph is compared with one augmented copy, whose augmentation is drawn uniformly.
    """

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: GraphCLSettings) -> None:
        super().__init__(inputs, encoder)
        self.settings = settings
        self.projector = projector(encoder.width)

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """The contrastive loss of the graphs and their augmented copies; a single graph has no negatives."""
        graph_index(batch)
        if batch.num_graphs < 2:
            return {}
        return {"contrast": self._contrast(batch, self._draw(batch, generator), generator)}

    def _draw(self, batch: Batch, generator: torch.Generator) -> Tensor:
        """A random augmentation for each graph, as an index into AUGMENTATIONS."""
        allowed = self._allowed(batch.x.device)
        return allowed[torch.randint(len(allowed), (batch.num_graphs,), generator=generator, device=batch.x.device)]

    def _allowed(self, device: torch.device) -> Tensor:
        return torch.tensor([AUGMENTATIONS.index(name) for name in self.settings.augmentations], device=device)

    def _contrast(self, batch: Batch, choice: Tensor, generator: torch.Generator) -> Tensor:
        s = self.settings
        augmented = augment(batch, choice, s.drop_rate, s.subgraph_rate, generator)
        anchor, view = self.project(self.embed_graphs(batch), None), self.project(self.embed_graphs(augmented), choice)
        return graph_contrast(anchor, view, s.temperature)

    def project(self, h: Tensor, choice: Tensor | None) -> Tensor:
        """The projected graphs (count × k); ``choice`` is the augmentation of each, None for unchanged graphs."""
        projected: Tensor = self.projector(h)
        return projected
