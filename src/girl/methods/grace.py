"""GRACE: two views of a node are alike, those of different nodes are not."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.kernel.checks import check_int, check_number
from girl.methods.augment import drawn, view
from girl.methods.base import Needs
from girl.methods.encoder_method import FLOAT, EncoderMethod
from girl.nn.convolutions import Linear
from girl.nn.encoder import EncoderSettings

#: Nodes whose likeness to all others is in memory at a time.
CHUNK = 1024


@dataclass(frozen=True)
class GRACESettings:
    """The two views, and how strictly they are compared."""

    hide_first: float = 0.3
    """Share of the columns of the features hidden from the first view."""
    hide_second: float = 0.4
    """Share of the columns of the features hidden from the second view."""
    drop_first: float = 0.2
    """Share of the edges that the first view lacks."""
    drop_second: float = 0.4
    """Share of the edges that the second view lacks."""
    temperature: float = 0.4
    """By what the cosines are divided."""
    projector: int = 256
    """Width of the projector."""
    rows: int = 0
    """Nodes drawn for the loss at each step, which is quadratic in them; 0: all."""

    def __post_init__(self) -> None:
        try:
            for name in ("hide_first", "hide_second", "drop_first", "drop_second"):
                check_number(name, getattr(self, name), 0, 1)
            check_number("temperature", self.temperature, 0, low_open=True)
            check_int("projector", self.projector, 1)
            check_int("rows", self.rows, 0)
        except ValueError as error:
            raise InputError(str(error)) from error


class GRACE(EncoderMethod):
    r"""GRACE (Zhu et al., 2020): the InfoNCE loss between two views, both ways, with all other nodes as negatives.

    .. math::
        \ell(u_i, v_i) = -\log\frac{e^{\theta(u_i,v_i)/\tau}}
        {\sum_k e^{\theta(u_i,v_k)/\tau} + \sum_{k\ne i} e^{\theta(u_i,u_k)/\tau}},
        \qquad L = \frac1{2n}\sum_i \ell(u_i,v_i) + \ell(v_i,u_i),

    θ the cosine of what a projector makes of the representations. With ``rows``, the nodes compared are drawn anew at
    each step, as Thakoor et al. (2022) do for large graphs.
    """

    passes = 3

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: GRACESettings) -> None:
        super().__init__(inputs, encoder)
        self.settings = s = settings
        width = encoder.hidden
        self.projector = nn.Sequential(Linear(width, s.projector), nn.ELU(), Linear(s.projector, width))

    def needs(self, whole: Batch, nodes: int) -> Needs:
        """Beside the encoder's: the likenesses of some nodes to all, and the way back through them."""
        base = super().needs(whole, nodes)
        return replace(base, step=base.step + 5 * FLOAT * CHUNK * min(self.settings.rows or nodes, nodes))

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """The loss of both directions."""
        s = self.settings
        rows = drawn(batch, s.rows, generator)
        seen = []
        for hide, drop in ((s.hide_first, s.drop_first), (s.hide_second, s.drop_second)):
            other = view(batch, hide, drop, generator)
            h = self.encoder(other.x, other.graph, rows)[-1]
            seen.append(functional.normalize(self.projector(h)))
        u, v = seen
        return {"contrast": (contrast(u, v, s.temperature) + contrast(v, u, s.temperature)) / 2}


def contrast(u: Tensor, v: Tensor, temperature: float) -> Tensor:
    """The mean of ℓ(u_i, v_i), from rows of length 1 (n × k); memory is linear in n."""
    starts = range(0, len(u), CHUNK)
    parts = [checkpoint(_contrast, u, v, start, temperature, use_reentrant=False) for start in starts]
    return torch.cat(parts).mean()


def _contrast(u: Tensor, v: Tensor, start: int, temperature: float) -> Tensor:
    some = u[start : start + CHUNK] / temperature
    across, within = some @ v.T, some @ u.T
    own = torch.arange(len(some), device=u.device)
    positive = across[own, start + own]
    within = within.index_put((own, start + own), within.new_tensor(-torch.inf))
    return torch.logaddexp(across.logsumexp(1), within.logsumexp(1)) - positive
