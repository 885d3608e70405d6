"""From sums over rows to ρ̂."""

from __future__ import annotations

from torch import Tensor


def mean_norm(sums: Tensor, rows: int, p: float, scale: Tensor | float = 1.0) -> Tensor:
    r"""The mean over columns of :math:`s_c(\frac1n\sum_i|R_{ic}/s_c|^p)^{1/p}` from the sums (m).

    A column without residual has the derivative 0, the subgradient of a norm at the origin; the bare root would give
    an infinite one.
    """
    left = sums > 0
    root = (sums.where(left, 1.0) / rows).pow(1 / p)
    return (root.where(left, 0.0) * scale).mean()


def power_sums(residual: Tensor, p: float) -> Tensor:
    """The sum over rows of |R|^p, one for each column."""
    return residual.square().sum(0) if p == 2 else residual.abs().pow(p).sum(0)


def column_scale(y: Tensor, p: float) -> Tensor | float:
    """A constant for each column that keeps |R/s|^p in range; the square is safe as it is."""
    if p == 2:
        return 1.0
    largest = y.detach().abs().amax(0)
    return largest.where(largest > 0, 1.0)
