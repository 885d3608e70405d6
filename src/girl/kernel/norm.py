"""From residuals to ρ̂, without derivatives of rounding noise."""

from __future__ import annotations

import torch
from torch import Tensor

#: A row's own weight in its fit, H_ii, beyond one minus this counts as one: the row is interpolated, its residual is
#: 0/0, and it is left out of the sum. Ridge stays away from it by nτ/(1 + nτ).
SATURATED = 1e-6

#: Residuals below this many roundings of their target are none. The norm of pure noise would have a gradient of full
#: size in a random direction.
ROUNDINGS = 1000


def inflation(left: Tensor) -> Tensor:
    r""":math:`1/(1-H_{ii})` from ``left`` = :math:`1-H_{ii}`, and 0 where the fit interpolates."""
    sound = left > SATURATED
    return torch.where(sound, 1 / left.where(sound, 1.0), 0.0)


def without_noise(values: Tensor, p: float) -> Tensor:
    """For p < 2, residuals (of targets of size one) that are rounding become 0: their sign would be a gradient.

    Only smoothers that interpolate have them, and those work in float64, hence the one level.
    """
    return values if p >= 2 else values.where(values.detach().abs() > 1e-12, 0.0)


def power_sums(values: Tensor, p: float) -> Tensor:
    r"""The sum over rows of :math:`|v|^p`, one for each column."""
    return values.square().sum(0) if p == 2 else values.abs().pow(p).sum(0)


def largest_entries(y: Tensor) -> Tensor:
    """The largest entry of each column in size; of no rows, 0."""
    if not y.shape[0]:
        return y.new_zeros(y.shape[1])
    low, high = y.detach().aminmax(dim=0)
    return torch.maximum(high, -low)


def column_scale(y: Tensor) -> Tensor:
    r"""The largest entry of each column in size (1 for a zero column): :math:`|R/s|^p` stays in range for any p."""
    largest = largest_entries(y)
    return largest.where(largest > 0, 1.0)


def mean_norm(
    sums: Tensor, size: Tensor, rows: int, p: float, dtype: torch.dtype, scale: Tensor | None, root: bool = True
) -> Tensor:
    r"""The mean over columns of :math:`s_c(\frac1n\sum_i|R_{ic}/s_c|^p)^{1/p}`, or of its p-th power.

    Args:
        sums: sums over rows of :math:`|R_{ic}/s_c|^p`, m.
        size: the same sums of the target itself, m: what rounding is measured against.
        rows: n.
        p: the norm.
        dtype: the type in which the residuals were computed.
        scale: :math:`s_c`, m; 1 if None.
        root: whether the p-th root is taken.
    """
    noise = (ROUNDINGS * torch.finfo(dtype).eps) ** p * size.detach()
    left = sums > noise
    means = sums.where(left, 1.0) / rows
    found = (means.pow(1 / p) if root else means).where(left, 0.0)
    if scale is not None:
        found = found * (scale if root else scale**p)
    return found.mean()
