"""BGCL: contrastive learning that learns how much to drop from each view."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.graph.reweighted import ReweightedFeatures, ReweightedGraph
from girl.kernel.checks import check_int, check_number
from girl.methods.augment import sample_nodes
from girl.methods.encoder_method import EncoderMethod
from girl.methods.grace import symmetric_info_nce
from girl.nn.convolutions import Linear
from girl.nn.encoder import EncoderSettings
from girl.settings import checking

#: The initial parameters of the Kumaraswamy distribution, as in the first author's code for learned drop rates: about
#: two thirds are kept.
START_A, START_B = 1.25, 0.5


@dataclass(frozen=True)
class BGCLSettings:
    """How views are compared, and the prior of their rates."""

    temperature: float = 0.4
    """Cosines are divided by it."""
    projector_hidden: int = 256
    """Hidden width of the projector."""
    prior: float = 0.8
    """α of the rates' prior, Beta(α, 1)."""
    relaxation: float = 0.67
    """Temperature of the relaxed Bernoulli draws."""
    kl_weight: float = 1e-3
    """Weight of the KL divergence of the rates from their prior."""
    samples: int = 8
    """Draws whose mean is a node's embedding."""
    rows: int = 0
    """Nodes drawn for the loss at each step, which is quadratic in them; 0: all."""

    def __post_init__(self) -> None:
        with checking():
            for name in ("temperature", "prior", "relaxation"):
                check_number(name, getattr(self, name), 0, low_open=True)
            check_number("kl_weight", self.kl_weight, 0)
            check_int("projector_hidden", self.projector_hidden, 1)
            check_int("samples", self.samples, 1)
            check_int("rows", self.rows, 0)


class BGCL(EncoderMethod):
    r"""Bayesian Graph Contrastive Learning (Hasanzadeh et al., 2021), after the description in the paper's abstract.

    The fraction π of edges, and of feature columns, that a view keeps is random,
    :math:`\pi\sim\mathrm{Kumaraswamy}(a,b)`, with learned a and b: masks are drawn from a relaxed Bernoulli
    distribution, so that gradients of GRACE's loss reach a and b, and the KL divergence of the rates from their prior
    Beta(α, 1) is added. A node's embedding is the mean over several draws.

    The authors have published no code. What the abstract leaves open follows the first author's work on learned drop
    rates (graph DropConnect).
    """

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: BGCLSettings) -> None:
        if encoder.conv != "gcn":
            raise InputError(f"conv: given {encoder.conv!r}, expected 'gcn': BGCL reweights the edges of that layer")
        if encoder.output != "last":
            raise InputError(f"output: given {encoder.output!r}, expected 'last': BGCL draws the last layer only")
        super().__init__(inputs, encoder)
        self.settings = s = settings
        width = encoder.hidden
        self.projector = nn.Sequential(Linear(width, s.projector_hidden), nn.ELU(), Linear(s.projector_hidden, width))
        # Rows: the two views. Columns: edges, features.
        self.a = nn.Parameter(torch.full((2, 2), START_A))
        self.b = nn.Parameter(torch.full((2, 2), START_B))

    @property
    def shapes(self) -> tuple[Tensor, Tensor]:
        """The positive parameters a and b of each rate (2 × 2)."""
        return functional.softplus(self.a.clamp(min=-10)), functional.softplus(self.b.clamp(-10, 50))

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """GRACE's loss, and the divergence of the rates from their prior."""
        s = self.settings
        rows = sample_nodes(batch, s.rows, generator)
        views = []
        for index in range(2):
            h = self._view(index, batch, generator)[-1]
            views.append(functional.normalize(self.projector(h if rows is None else h[rows])))
        divergence = kl_divergence(*self.shapes, s.prior).sum()
        return {"contrast": symmetric_info_nce(views[0], views[1], s.temperature), "rates": s.kl_weight * divergence}

    def _view(self, index: int, batch: Batch, generator: torch.Generator) -> list[Tensor]:
        """The layers of a random draw of one view."""
        a, b = self.shapes
        uniform = torch.rand(2, generator=generator, device=a.device).clamp(1e-6, 1 - 1e-6)
        edges, columns = (1 - uniform ** (1 / b[index])) ** (1 / a[index])
        looped = batch.graph.with_self_loops  # self-loops are dropped as well
        graph = ReweightedGraph(batch.graph, self._mask(edges, looped.num_undirected, generator)[looped.undirected_id])
        x = ReweightedFeatures(batch.x, self._mask(columns, batch.x.shape[1], generator))
        return self.encoder(x, graph)

    def _mask(self, rate: Tensor, size: int, generator: torch.Generator) -> Tensor:
        """``size`` relaxed Bernoulli draws, 1 with probability ``rate``."""
        noise = torch.rand(size, generator=generator, device=rate.device).clamp(1e-6, 1 - 1e-6)
        rate = rate.clamp(1e-6, 1 - 1e-6)
        return ((noise.logit() + rate.logit()) / self.settings.relaxation).sigmoid()

    @torch.no_grad()
    def transform_layer(self, h: Tensor, data: Batch) -> Tensor:
        """The mean of the last layer over draws of both views."""
        generator = torch.Generator(h.device).manual_seed(0)
        total = torch.zeros_like(h)
        for index in range(self.settings.samples):
            total += self._view(index % 2, data, generator)[-1]
        return total / self.settings.samples


def kl_divergence(a: Tensor, b: Tensor, prior: float) -> Tensor:
    """KL(Kumaraswamy(a, b) ‖ Beta(α, 1)), elementwise."""
    inner = -np.euler_gamma - torch.digamma(b) - 1 / b
    return (1 - prior / a) * inner + (a * b).log() - math.log(prior) - (b - 1) / b
