"""BGCL: contrastive learning that learns how much each view should lack."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.graph.reweighted import ReweightedFeatures, ReweightedGraph
from girl.kernel.checks import check_int, check_number
from girl.methods.augment import drawn
from girl.methods.encoder_method import EncoderMethod
from girl.methods.grace import contrast
from girl.nn.convolutions import Linear
from girl.nn.encoder import EncoderSettings

#: The number of Euler and Mascheroni.
EULER = 0.5772156649015329

#: The Kumaraswamy distribution's parameters before the first step, as the first author's program for learned drop rates
#: has them: a rate of about two thirds is kept.
START_A, START_B = 1.25, 0.5


@dataclass(frozen=True)
class BGCLSettings:
    """How the views are compared, and what is believed of their rates beforehand."""

    temperature: float = 0.4
    """By what the cosines are divided."""
    projector: int = 256
    """Width of the projector."""
    prior: float = 0.8
    """α of the rates' prior, Beta(α, 1)."""
    relaxation: float = 0.67
    """Temperature of the relaxed draws."""
    divergence: float = 1e-3
    """Weight of the divergence from the prior."""
    samples: int = 8
    """Draws whose mean represents a node."""
    rows: int = 0
    """Nodes drawn for the loss at each step, which is quadratic in them; 0: all."""

    def __post_init__(self) -> None:
        try:
            for name in ("temperature", "prior", "relaxation"):
                check_number(name, getattr(self, name), 0, low_open=True)
            check_number("divergence", self.divergence, 0)
            check_int("projector", self.projector, 1)
            check_int("samples", self.samples, 1)
            check_int("rows", self.rows, 0)
        except ValueError as error:
            raise InputError(str(error)) from error


class BGCL(EncoderMethod):
    r"""Bayesian Graph Contrastive Learning (Hasanzadeh et al., 2021), after the description in the paper's abstract.

    The share π of the edges, and that of the columns of the features, that each of two views keeps is itself random,
    :math:`\pi\sim\mathrm{Kumaraswamy}(a,b)`, and a and b are learned: masks are drawn from a relaxed Bernoulli
    distribution, so that gradients of the contrastive loss of GRACE reach them, and the divergence of the rates from
    their prior Beta(α, 1) is added. A node is represented by the mean over several draws.

    There is no public program of the authors, so that what the abstract leaves open is filled in from the first
    author's work on learned drop rates (graph DropConnect).
    """

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: BGCLSettings) -> None:
        if encoder.conv != "gcn":
            raise InputError(f"conv: given {encoder.conv!r}, expected 'gcn': BGCL weighs the edges of that layer")
        if encoder.output != "last":
            raise InputError(f"output: given {encoder.output!r}, expected 'last': BGCL's draws are of the last layer")
        super().__init__(inputs, encoder)
        self.settings = s = settings
        width = encoder.hidden
        self.projector = nn.Sequential(Linear(width, s.projector), nn.ELU(), Linear(s.projector, width))
        # For each view: edges, features.
        self.a = nn.Parameter(torch.full((2, 2), START_A))
        self.b = nn.Parameter(torch.full((2, 2), START_B))

    @property
    def shapes(self) -> tuple[Tensor, Tensor]:
        """A and b of each rate (2 × 2), positive."""
        return functional.softplus(self.a.clamp(min=-10)), functional.softplus(self.b.clamp(-10, 50))

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """The contrast of both directions, and the rates' divergence."""
        s = self.settings
        rows = drawn(batch, s.rows, generator)
        seen = []
        for index in range(2):
            h = self._view(index, batch, generator)[-1]
            seen.append(functional.normalize(self.projector(h if rows is None else h[rows])))
        u, v = seen
        found = (contrast(u, v, s.temperature) + contrast(v, u, s.temperature)) / 2
        return {"contrast": found, "rates": s.divergence * divergence(*self.shapes, s.prior).sum()}

    def _view(self, index: int, batch: Batch, generator: torch.Generator) -> list[Tensor]:
        """The layers of one view, drawn."""
        a, b = self.shapes
        draw = torch.rand(2, generator=generator, device=a.device).clamp(1e-6, 1 - 1e-6)
        edges, columns = (1 - draw ** (1 / b[index])) ** (1 / a[index])
        looped = batch.graph.with_self_loops  # a node may lose what it says to itself as well
        graph = ReweightedGraph(batch.graph, self._mask(edges, looped.num_undirected, generator)[looped.undirected_id])
        x = ReweightedFeatures(batch.x, self._mask(columns, batch.x.shape[1], generator))
        return self.encoder(x, graph)

    def _mask(self, rate: Tensor, size: int, generator: torch.Generator) -> Tensor:
        """Relaxed draws of what is kept."""
        noise = torch.rand(size, generator=generator, device=rate.device).clamp(1e-6, 1 - 1e-6)
        rate = rate.clamp(1e-6, 1 - 1e-6)
        return ((noise.logit() + rate.logit()) / self.settings.relaxation).sigmoid()

    @torch.no_grad()
    def spread(self, layer: Tensor, whole: Batch) -> Tensor:
        """The mean of the last layer over draws from both views."""
        generator = torch.Generator(layer.device).manual_seed(0)
        draws = range(self.settings.samples)
        found = torch.zeros_like(layer)
        for index in draws:
            found += self._view(index % 2, whole, generator)[-1]
        return found / self.settings.samples


def divergence(a: Tensor, b: Tensor, prior: float) -> Tensor:
    """KL(Kumaraswamy(a, b) ‖ Beta(α, 1)), elementwise."""
    inner = -EULER - torch.digamma(b) - 1 / b
    return (1 - prior / a) * inner + (a * b).log() - torch.tensor(prior).log() - (b - 1) / b
