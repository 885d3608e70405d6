"""The products over n rows, each with a way back that does no product twice and keeps no matrix twice."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from girl.kernel.norm import power_sums, without_noise


class _Gram(torch.autograd.Function):
    """ΦᵀΦ (r x r); one product on the way back where autograd's transpose rule would need two."""

    @staticmethod
    def forward(ctx: Any, features: Tensor) -> Tensor:
        ctx.save_for_backward(features)
        return features.T @ features

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (features,) = ctx.saved_tensors
        return features @ (grads[0] + grads[0].T)


class _OwnWeight(torch.autograd.Function):
    """H_ii = φᵢᵀMφᵢ (n) for symmetric M (r x r), with the symmetry used on the way back."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, core: Tensor) -> Tensor:
        turned = features @ core
        ctx.save_for_backward(features, turned)
        return torch.linalg.vecdot(turned, features)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        features, turned = ctx.saved_tensors
        weight = grads[0].unsqueeze(1)
        return turned * (2 * weight), features.T @ (weight * features)


class _ResidualSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, y: Tensor, features: Tensor, fit: Tensor, inflate: Tensor | None, p: float) -> Tensor:
        residual = torch.addmm(y, features, fit, alpha=-1)
        if inflate is not None:
            residual.mul_(inflate.unsqueeze(1))
        residual = without_noise(residual, p)
        ctx.save_for_backward(features, fit, inflate, residual)
        ctx.p = p
        return power_sums(residual, p)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor, Tensor, Tensor | None, None]:
        features, fit, inflate, residual = ctx.saved_tensors
        p = ctx.p
        if p == 2:
            flow = residual * (2 * grads[0])
        else:
            flow = residual.abs().pow_(p - 1).mul_(residual.sign()).mul_(p * grads[0])
        into_inflate = None
        if inflate is not None:
            # The kept residual is inflated already; a row of weight 0 is 0 and stays so.
            into_inflate = torch.linalg.vecdot(flow, residual) / inflate.where(inflate > 0, 1.0)
            flow.mul_(inflate.unsqueeze(1))
        into_y = flow if ctx.needs_input_grad[0] else None
        return into_y, flow @ -fit.T, (features.T @ flow).neg_(), into_inflate, None


def gram(features: Tensor) -> Tensor:
    """ΦᵀΦ (r x r), differentiable."""
    return _Gram.apply(features)


def own_weight(features: Tensor, core: Tensor) -> Tensor:
    """The diagonal of ΦMΦᵀ (n), differentiable in both; M (r x r) is symmetric."""
    return _OwnWeight.apply(features, core)


def residual_sums(y: Tensor, features: Tensor, fit: Tensor, inflate: Tensor | None, p: float) -> Tensor:
    r""":math:`\sum_i |u_i (y_i - \phi_i^\top B)_c|^p` (m) from y (n x m), Φ (n x r), B (r x m) and u (n) or None.

    One step, because the n x m residual is the largest matrix here: it is kept once, scaled in place.
    """
    return _ResidualSums.apply(y, features, fit, inflate, p)
