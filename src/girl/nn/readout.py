"""A graph's embedding as the distribution of its nodes, by the kernel of the KR loss."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from girl.kernel.features import orthogonal_frequencies

#: Nodes whose kernel features are in memory at a time.
CHUNK = 65_536


class KernelReadout(nn.Module):
    r"""The sum of kernel features over a graph's n nodes, divided by √n: √n times its kernel mean embedding.

    .. math:: g = \frac1{\sqrt n}\sum_v\varphi(h_v), \qquad \varphi(h)^\top\varphi(h') \approx
        \exp\Big(-\frac{\|u-u'\|^2}{w\,\overline{\|u-u'\|^2}}\Big)

    with u the row h after standardising its columns over all nodes. Sums of the rows themselves distinguish graphs by
    their mean rows only; g distinguishes them by where their nodes lie, the more finely the smaller w is. Why √n:
    features of unrelated nodes add up as √n. So divided, large and small graphs have the same variance (with sums the
    small graphs crowd together, with means the large ones), and the size is not lost. The columns of g are standardised
    over all graphs.

    Args:
        columns: columns of the node rows h.
        width: w, in units of the mean squared distance.
        rank: columns of g; as many as h has if None.
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
        frequencies = orthogonal_frequencies(columns, (rank + 1) // 2, None, torch.device("cpu"))
        self.register_buffer("frequencies", frequencies)
        self.register_buffer("center", torch.zeros(columns))
        self.register_buffer("factor", torch.ones(columns))
        self.register_buffer("mean", torch.zeros(rank))
        self.register_buffer("scale", torch.ones(rank))

    @torch.no_grad()
    def fit(self, h: Tensor, graphs: Tensor, count: int) -> None:
        """Learn means and scales from a set of graphs.

        Args:
            h: rows of the nodes (n × columns).
            graphs: the graph of each node (n).
            count: the number of graphs.
        """
        variance, center = torch.var_mean(h, 0, correction=0)
        self.center.copy_(center)
        factor = _inverse_std(variance)
        # The mean squared distance of standardised rows is twice the number of columns.
        self.factor.copy_(factor * (self.width * factor.count_nonzero().clamp(min=1)).rsqrt())
        self.mean.zero_()
        self.scale.fill_(1)
        variance, mean = torch.var_mean(self(h, graphs, count), 0, correction=0)
        self.mean.copy_(mean)
        self.scale.copy_(_inverse_std(variance))

    @torch.no_grad()
    def forward(self, h: Tensor, graphs: Tensor, count: int) -> Tensor:
        """The embeddings g of all graphs (count × rank), from the rows of their nodes (n × columns)."""
        out = h.new_zeros(count, len(self.mean))
        for rows, index in zip(h.split(CHUNK), graphs.split(CHUNK), strict=True):
            phase = ((rows - self.center) * self.factor) @ self.frequencies
            out.index_add_(0, index, torch.cat([phase.cos(), phase.sin()], 1)[:, : out.shape[1]])
        sizes = torch.bincount(graphs, minlength=count).clamp(min=1)
        return (out / sizes.sqrt().unsqueeze(1) - self.mean) * self.scale


def _inverse_std(variance: Tensor) -> Tensor:
    """One over the standard deviation of each column; zero for constant columns."""
    return torch.where(variance > 1e-8 * variance.max(), variance.clamp(min=1e-30).rsqrt(), 0.0)
