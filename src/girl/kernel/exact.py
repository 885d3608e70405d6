r"""ρ̂ from the whole kernel matrix: O(n³) time and O(n²) memory, for small n and as the reference."""

from __future__ import annotations

import torch
from torch import Tensor

from girl.kernel.features import kernel_matrix
from girl.kernel.norm import column_scale, mean_norm, power_sums
from girl.kernel.smoother import Smoother

#: A row's own weight in its fit, H_ii, counts as at most one minus this: smoothers that interpolate have residual 0
#: and weight 1, and 0/0 is read as 0.
OWN_WEIGHT_FLOOR = 1e-6


def exact_rho(
    x: Tensor, targets: tuple[Tensor, ...], width: Tensor, smoother: Smoother, leave_one_out: bool, p: float
) -> Tensor:
    r"""The sum over targets of ρ̂(Y|X), with R = EY, E = I - H (n x n), and :math:`R_i/E_{ii}` for leave-one-out."""
    remainder = smoother.remainder(kernel_matrix(x, width))
    if leave_one_out:
        remainder = remainder / remainder.diagonal().clamp(min=OWN_WEIGHT_FLOOR).unsqueeze(1)
    total = remainder.new_zeros(())
    for y in targets:
        dense = (y.to_dense() if y.layout == torch.sparse_csr else y).to(remainder.dtype)
        scale = column_scale(dense, p)
        total = total + mean_norm(power_sums(remainder @ dense / scale, p), x.shape[0], p, scale)
    return total
