r"""Residuals of a fit with features Φ (n x r): leverages, leave-one-out, sums over rows, and norms.

The products over n rows are autograd functions whose backward does no product twice and keeps no matrix twice.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from girl.kernel.precision import wide_dtype

#: A row with leverage H_ii above one minus this is interpolated: its leave-one-out residual is 0/0, and it is left out.
#: With ridge, 1 - H_ii is at least nτ/(1 + nτ).
INTERPOLATED = 1e-6

#: Residuals below this many units of rounding of their target count as zero. The norm of rounding noise would have a
#: gradient of full size in a random direction.
ROUNDINGS = 1000


def leave_one_out_factors(one_minus_leverage: Tensor) -> Tensor:
    r"""The factors :math:`1/(1-H_{ii})` (n) from :math:`1-H_{ii}` (n); 0 for rows that the fit interpolates.

    They turn the in-sample residual :math:`R_i` into the leave-one-out residual :math:`R_i/(1-H_{ii})`: the error at
    row i of the fit to all other rows. This is exact for ridge at a fixed bandwidth.
    """
    valid = one_minus_leverage > INTERPOLATED
    return torch.where(valid, 1 / one_minus_leverage.where(valid, 1.0), 0.0)


def without_rounding(residual: Tensor, p: float) -> Tensor:
    """For p < 2, set residuals that are only rounding to 0: else their signs would be a gradient.

    Targets are scaled to a largest entry of one. Only smoothers that interpolate have such residuals, and those work
    in float64, so one level serves all.
    """
    return residual if p >= 2 else residual.where(residual.detach().abs() > 1e-12, 0.0)


def power_sums(values: Tensor, p: float) -> Tensor:
    r"""The sums over rows of :math:`|v|^p` (m), for values (n x m)."""
    return values.square().sum(0) if p == 2 else values.abs().pow(p).sum(0)


def largest_entries(y: Tensor) -> Tensor:
    """The largest absolute value of each column of y (n x m); 0 if there are no rows."""
    if not y.shape[0]:
        return y.new_zeros(y.shape[1])
    low, high = y.detach().aminmax(dim=0)
    return torch.maximum(high, -low)


def column_scale(largest: Tensor) -> Tensor:
    r"""The scale s (m) of columns with these largest entries; 1 for zero columns. :math:`|R/s|^p` cannot overflow."""
    return largest.where(largest > 0, 1.0)


def mean_norm(
    sums: Tensor, target_sums: Tensor, rows: int, p: float, dtype: torch.dtype, scale: Tensor | None, root: bool = True
) -> Tensor:
    r"""The mean over columns of :math:`s_c(\frac1n\sum_i|R_{ic}/s_c|^p)^{1/p}`, or of its p-th power (not ``root``).

    ``sums`` (m) are the sums over the n ``rows`` of :math:`|R_{ic}/s_c|^p`; ``scale`` (m) is :math:`s_c`; None is 1.
    ``target_sums`` (m) are the same sums of the target. Rounding in ``dtype`` is measured against them.
    """
    rounding = (ROUNDINGS * torch.finfo(dtype).eps) ** p * target_sums.detach()
    nonzero = sums > rounding
    means = sums.where(nonzero, 1.0) / rows
    norms = (means.pow(1 / p) if root else means).where(nonzero, 0.0)
    if scale is not None:
        norms = norms * (scale if root else scale**p)
    return norms.mean()


class _Gram(torch.autograd.Function):
    """ΦᵀΦ (r x r); its backward takes one product, where autograd's rule for the transpose takes two."""

    @staticmethod
    def forward(ctx: Any, features: Tensor) -> Tensor:
        ctx.save_for_backward(features)
        return features.T @ features

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (features,) = ctx.saved_tensors
        return features @ (grads[0] + grads[0].T)


class _Leverages(torch.autograd.Function):
    """The leverages H_ii = φᵢᵀMφᵢ (n) of H = ΦMΦᵀ, for Φ (n x r) and symmetric M (r x r)."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, core: Tensor) -> Tensor:
        product = features @ core
        ctx.save_for_backward(features, product)
        return torch.linalg.vecdot(product, features)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        features, product = ctx.saved_tensors
        weight = grads[0].unsqueeze(1)
        return product * (2 * weight), features.T @ (weight * features)


class _ResidualSums(torch.autograd.Function):
    r""":math:`\sum_i |u_i (y_i - \phi_i^\top B)_c|^p` (m) from y (n x m), Φ (n x r), B (r x m) and u (n) or None.

    One function, because the n x m residual is the largest matrix here: it is kept once and scaled in place.
    """

    @staticmethod
    def forward(ctx: Any, y: Tensor, features: Tensor, fit: Tensor, factors: Tensor | None, p: float) -> Tensor:
        residual = torch.addmm(y, features, fit, alpha=-1)
        if factors is not None:
            residual.mul_(factors.unsqueeze(1))
        residual = without_rounding(residual, p)
        ctx.save_for_backward(features, fit, factors, residual)
        ctx.p = p
        return power_sums(residual, p)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor, Tensor, Tensor | None, None]:
        features, fit, factors, residual = ctx.saved_tensors
        p = ctx.p
        if p == 2:
            grad = residual * (2 * grads[0])
        else:
            grad = residual.abs().pow_(p - 1).mul_(residual.sign()).mul_(p * grads[0])
        factors_grad = None
        if factors is not None:
            # The saved residual already has its factor; a row with factor 0 is 0 and stays so.
            factors_grad = torch.linalg.vecdot(grad, residual) / factors.where(factors > 0, 1.0)
            grad.mul_(factors.unsqueeze(1))
        y_grad = grad if ctx.needs_input_grad[0] else None
        return y_grad, grad @ -fit.T, (features.T @ grad).neg_(), factors_grad, None


class _RidgeSums(torch.autograd.Function):
    r"""Sums over rows of squared in-sample residuals (m) of the ridge fit of y (n x m) on Φ (n x r) with penalty c.

    With :math:`A = \Phi^\top\Phi + cI`, :math:`B = A^{-1}\Phi^\top Y` and :math:`R = Y - \Phi B` (n x m), the loss is
    :math:`\sum_c g_c \|R_c\|^2` for weights g. Its derivative in B needs :math:`\Phi^\top R`, which is :math:`cB`: no
    product over rows. With :math:`W = -2c\,A^{-1}B\,\mathrm{diag}(g)` (r x m),

    .. math::

        \bar Y = 2R\,\mathrm{diag}(g) + \Phi W, \qquad \bar\Phi = R\,W^\top - \bar Y B^\top .

    Step by step, the backward would multiply Φ by an r x r matrix twice; here every product has only m columns.
    """

    @staticmethod
    def forward(ctx: Any, y: Tensor, features: Tensor, penalty: float) -> Tensor:
        gram = (features.T @ features).to(wide_dtype(features))
        gram.diagonal().add_(penalty)
        lower = torch.linalg.cholesky(gram)
        fit = torch.cholesky_solve((features.T @ y).to(gram.dtype), lower)
        residual = torch.addmm(y, features, fit.to(y.dtype), alpha=-1)
        ctx.save_for_backward(features, lower, fit, residual)
        ctx.penalty = penalty
        return residual.square().sum(0)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        features, lower, fit, residual = ctx.saved_tensors
        w = torch.cholesky_solve(fit * grads[0].to(fit.dtype), lower).mul_(-2 * ctx.penalty).to(features.dtype)
        y_grad = torch.addmm(residual * (2 * grads[0]), features, w)
        features_grad = None
        if ctx.needs_input_grad[1]:
            features_grad = torch.addmm(residual @ w.T, y_grad, fit.T.to(features.dtype), alpha=-1)
        return y_grad if ctx.needs_input_grad[0] else None, features_grad, None


#: gram(Φ), leverages(Φ, M), residual_sums(y, Φ, B, u, p) and ridge_residual_sums(y, Φ, c), all differentiable.
gram: Callable[[Tensor], Tensor] = _Gram.apply
leverages: Callable[[Tensor, Tensor], Tensor] = _Leverages.apply
residual_sums: Callable[[Tensor, Tensor, Tensor, Tensor | None, float], Tensor] = _ResidualSums.apply
ridge_residual_sums: Callable[[Tensor, Tensor, float], Tensor] = _RidgeSums.apply
