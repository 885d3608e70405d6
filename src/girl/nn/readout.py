"""A graph as the distribution of its nodes, by the kernel that the loss is made of."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from girl.kernel.features import orthogonal_frequencies

#: Nodes whose features are made at a time.
CHUNK = 65_536


class KernelReadout(nn.Module):
    r"""Sums over a graph's n nodes of kernel features, divided by √n: its kernel mean embedding, times √n.

    .. math:: g = \frac1{\sqrt n}\sum_v\varphi(h_v), \qquad \varphi(h)^\top\varphi(h') \approx
        \exp\Big(-\frac{\|u-u'\|^2}{w\,\overline{\|u-u'\|^2}}\Big)

    with u the row h, each of its columns shifted and scaled to spread 1 over all nodes. A sum of the rows themselves
    tells two graphs apart by their mean rows only; this one by where their nodes lie, the more finely the smaller w
    is. Features of nodes that have nothing to do with each other add up as √n: so divided, large and small graphs
    scatter alike, which sums (small graphs crowd) and means (large ones do) do not give, and the size is not lost. The
    columns of g are shifted and scaled to spread 1 over all graphs.

    Args:
        columns: of the rows.
        width: w, in means of the squared distances.
        rank: columns of what a graph becomes; as many as the rows have if None.
    """

    frequencies: Tensor
    center: Tensor
    factor: Tensor
    mean: Tensor
    scale: Tensor

    def __init__(self, columns: int, width: float, rank: int | None = None) -> None:
        super().__init__()
        self.width = width
        rank = columns if rank is None else rank
        drawn = orthogonal_frequencies(columns, (rank + 1) // 2, None, torch.device("cpu"))
        self.register_buffer("frequencies", drawn)
        self.register_buffer("center", torch.zeros(columns))
        self.register_buffer("factor", torch.ones(columns))
        self.register_buffer("mean", torch.zeros(rank))
        self.register_buffer("scale", torch.ones(rank))

    @torch.no_grad()
    def fit(self, h: Tensor, graphs: Tensor, count: int) -> None:
        """Learn all shifts and scales from the nodes of a set of graphs.

        Args:
            h: the nodes' rows (n × columns).
            graphs: the graph of each node.
            count: how many graphs there are.
        """
        variance, center = torch.var_mean(h, 0, correction=0)
        self.center.copy_(center)
        factor = _inverse_spread(variance)
        # Of columns with spread 1 the mean squared distance is twice their number.
        self.factor.copy_(factor * (self.width * factor.count_nonzero().clamp(min=1)).rsqrt())
        self.mean.zero_()
        self.scale.fill_(1)
        variance, mean = torch.var_mean(self(h, graphs, count), 0, correction=0)
        self.mean.copy_(mean)
        self.scale.copy_(_inverse_spread(variance))

    @torch.no_grad()
    def forward(self, h: Tensor, graphs: Tensor, count: int) -> Tensor:
        """The graphs' rows (count × rank), from those of their nodes (n × columns)."""
        out = h.new_zeros(count, len(self.mean))
        for part, owner in zip(h.split(CHUNK), graphs.split(CHUNK), strict=True):
            phase = ((part - self.center) * self.factor) @ self.frequencies
            out.index_add_(0, owner, torch.cat([phase.cos(), phase.sin()], 1)[:, : out.shape[1]])
        sizes = torch.bincount(graphs, minlength=count).clamp(min=1)
        return (out / sizes.sqrt().unsqueeze(1) - self.mean) * self.scale


def _inverse_spread(variance: Tensor) -> Tensor:
    """One over the spread of each column; zero where nothing varies."""
    return torch.where(variance > 1e-8 * variance.max(), variance.clamp(min=1e-30).rsqrt(), 0.0)
