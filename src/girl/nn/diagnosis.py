"""Where along the depth of a network do the labels go? ρ̂(Y|H⁽ˡ⁾) of each layer, on nodes that it did not learn from."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from girl.kernel.checks import EqualRowsError
from girl.kernel.loss import KRLoss

#: Nodes that the estimate is made from; more would change its third digit.
ROWS = 2048


def lost_share(h: Tensor, y: Tensor, generator: torch.Generator | None = None) -> float:
    r"""The share of the labels' spread that a layer's output does not determine: ρ̂(Y|H) / ρ̂(Y|nothing), about 0 to 1.

    Residuals are leave-one-out: each node is predicted from the others, so that an output in which every node stands
    apart explains nothing.

    Args:
        h: outputs of a layer for k nodes, k × d.
        y: their labels, k classes, or k × c of several at once.
        generator: draws nodes, where there are many, and landmarks.
    """
    keep = torch.randperm(len(h), generator=generator)[:ROWS].sort().values.to(h.device) if len(h) > ROWS else None
    if keep is not None:
        h, y = h[keep], y[keep]
    target = (one_hot(y) if y.dim() == 1 else y).to(h.dtype)
    target = target - target.mean(0)
    spread = target.square().mean(0).sqrt().mean()
    if len(h) < 2 or not spread > 0:
        return float("nan")
    try:
        found = KRLoss()(h.detach(), target, generator=generator)
    except EqualRowsError:
        return 1.0
    return float(found / spread)


def lost_shares(layers: Iterable[Tensor], y: Tensor, nodes: Tensor, seed: int = 0) -> list[float]:
    """:func:`lost_share` of each layer (n × d), for some of the nodes; the same of them for every layer."""
    return [lost_share(h[nodes], y[nodes], torch.Generator().manual_seed(seed)) for h in layers]
