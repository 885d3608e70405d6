"""GRACE: the two views of a node are pulled together, those of different nodes are pushed apart."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from girl.graph.batch import Batch
from girl.kernel.checks import check_int, check_number
from girl.methods.augment import random_view, sample_nodes
from girl.methods.encoder_method import EncoderMethod
from girl.methods.memory import FLOAT, MemoryEstimate
from girl.nn.convolutions import Linear
from girl.nn.encoder import EncoderSettings
from girl.settings import checking

#: Nodes whose similarities to all others are in memory at a time.
CHUNK = 1024


@dataclass(frozen=True)
class GRACESettings:
    """The two views, and their comparison."""

    drop_features_1: float = 0.3
    """Fraction of the feature columns dropped from the first view."""
    drop_features_2: float = 0.4
    """Fraction of the feature columns dropped from the second view."""
    drop_edges_1: float = 0.2
    """Fraction of the edges dropped from the first view."""
    drop_edges_2: float = 0.4
    """Fraction of the edges dropped from the second view."""
    temperature: float = 0.4
    """Cosines are divided by it."""
    projector_hidden: int = 256
    """Hidden width of the projector."""
    rows: int = 0
    """Nodes drawn for the loss at each step, which is quadratic in them; 0: all."""

    def __post_init__(self) -> None:
        with checking():
            for name in ("drop_features_1", "drop_features_2", "drop_edges_1", "drop_edges_2"):
                check_number(name, getattr(self, name), 0, 1)
            check_number("temperature", self.temperature, 0, low_open=True)
            check_int("projector_hidden", self.projector_hidden, 1)
            check_int("rows", self.rows, 0)


class GRACE(EncoderMethod):
    r"""GRACE (Zhu et al., 2020): the InfoNCE loss between two views, with all other nodes as negatives.

    .. math::
        \ell(u_i, v_i) = -\log\frac{e^{\theta(u_i,v_i)/\tau}}
        {\sum_k e^{\theta(u_i,v_k)/\tau} + \sum_{k\ne i} e^{\theta(u_i,u_k)/\tau}},
        \qquad L = \frac1{2n}\sum_i \ell(u_i,v_i) + \ell(v_i,u_i),

    θ the cosine of the projected outputs. With ``rows``, the compared nodes are drawn anew at each step, as Thakoor et
    al. (2022) do for large graphs.
    """

    passes = 3

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: GRACESettings) -> None:
        super().__init__(inputs, encoder)
        self.settings = s = settings
        width = encoder.hidden
        self.projector = nn.Sequential(Linear(width, s.projector_hidden), nn.ELU(), Linear(s.projector_hidden, width))

    def memory(self, data: Batch, batch_nodes: int) -> MemoryEstimate:
        """The encoder's, and the similarities of a chunk of nodes to all others, forward and backward."""
        base = super().memory(data, batch_nodes)
        rows = min(self.settings.rows or batch_nodes, batch_nodes)
        return replace(base, step=base.step + 5 * FLOAT * CHUNK * rows)

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """The loss, in both directions."""
        s = self.settings
        rows = sample_nodes(batch, s.rows, generator)
        views = []
        for features, edges in ((s.drop_features_1, s.drop_edges_1), (s.drop_features_2, s.drop_edges_2)):
            view = random_view(batch, features, edges, generator)
            views.append(functional.normalize(self.projector(self.encoder(view.x, view.graph, rows)[-1])))
        return {"contrast": symmetric_info_nce(views[0], views[1], s.temperature)}


def symmetric_info_nce(u: Tensor, v: Tensor, temperature: float) -> Tensor:
    """GRACE's loss of two views with rows of length 1 (n × k)."""
    return (info_nce(u, v, temperature) + info_nce(v, u, temperature)) / 2


def info_nce(u: Tensor, v: Tensor, temperature: float) -> Tensor:
    """The mean of ℓ(u_i, v_i), for rows of length 1 (n × k). Memory is linear in n."""
    starts = range(0, len(u), CHUNK)
    parts = [checkpoint(_info_nce_rows, u, v, start, temperature, use_reentrant=False) for start in starts]
    return torch.cat(parts).mean()


def _info_nce_rows(u: Tensor, v: Tensor, start: int, temperature: float) -> Tensor:
    rows = u[start : start + CHUNK] / temperature
    across, within = rows @ v.T, rows @ u.T
    index = torch.arange(len(rows), device=u.device)
    positive = across[index, start + index]
    within = within.index_put((index, start + index), within.new_tensor(-torch.inf))
    return torch.logaddexp(across.logsumexp(1), within.logsumexp(1)) - positive
