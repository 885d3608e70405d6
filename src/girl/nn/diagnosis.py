"""In which layer of a network are the labels lost? ρ̂(Y|H⁽ˡ⁾) of each layer, on nodes that it was not trained on."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from girl.kernel.checks import EqualRowsError
from girl.kernel.loss import KRLoss

#: Nodes in the estimate; more would change its third digit.
ROWS = 2048


def unexplained_fraction(h: Tensor, y: Tensor, generator: torch.Generator | None = None) -> float:
    r"""The fraction of the labels' standard deviation that a layer does not explain: ρ̂(Y|H) / std(Y), about 0 to 1.

    Residuals are leave-one-out: each node is predicted from the others, so an output that merely separates all nodes
    explains nothing. NaN if there are fewer than two nodes, or all have the same label.

    Args:
        h: outputs of a layer for k nodes, k × d.
        y: their labels: k classes, or k × c of several at once.
        generator: draws nodes, if there are many, and landmarks.
    """
    if len(h) > ROWS:
        rows = torch.randperm(len(h), generator=generator)[:ROWS].sort().values.to(h.device)
        h, y = h[rows], y[rows]
    target = (one_hot(y) if y.dim() == 1 else y).to(h.dtype)
    target = target - target.mean(0)
    std = target.square().mean(0).sqrt().mean()
    if len(h) < 2 or not std > 0:
        return float("nan")
    try:
        return float(KRLoss()(h.detach(), target, generator=generator) / std)
    except EqualRowsError:
        return 1.0


def unexplained_fractions(layers: Iterable[Tensor], y: Tensor, nodes: Tensor, seed: int = 0) -> list[float]:
    """:func:`unexplained_fraction` of each layer (n × d) on ``nodes``, with the same draws for every layer."""
    return [unexplained_fraction(h[nodes], y[nodes], torch.Generator().manual_seed(seed)) for h in layers]
