r"""ρ̂ from the whole kernel matrix: O(n³) time and O(n²) memory, for small n and as the reference."""

from __future__ import annotations

import torch
from torch import Tensor

from girl.kernel.features import kernel_matrix
from girl.kernel.norm import column_scale, inflation, mean_norm, power_sums, without_noise
from girl.kernel.rows import Rows
from girl.kernel.smoother import Smoother


def exact_rho(
    rows: Rows,
    targets: tuple[Tensor, ...],
    width: Tensor,
    smoother: Smoother,
    leave_one_out: bool,
    p: float,
    root: bool = True,
) -> Tensor:
    r"""The sum over targets of ρ̂(Y|X), with R = EY, E = I - H (n x n), and :math:`R_i/E_{ii}` for leave-one-out."""
    remainder = smoother.remainder(kernel_matrix(rows, width))
    if leave_one_out:
        remainder = remainder * inflation(remainder.diagonal()).unsqueeze(1)
    dtype = remainder.dtype
    total = remainder.new_zeros(())
    for y in targets:
        dense = (y.to_dense() if y.layout == torch.sparse_csr else y).to(dtype)
        scale = None if p == 2 else column_scale(dense)
        if scale is not None:
            dense = dense / scale
        sums, size = power_sums(without_noise(remainder @ dense, p), p), power_sums(dense.detach(), p)
        total = total + mean_norm(sums, size, len(rows), p, dtype, scale, root)
    return total
