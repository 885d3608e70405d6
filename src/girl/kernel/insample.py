r"""In-sample residuals of a ridge fit on features Φ (n x r), whose way back has no product of n x r² terms.

With :math:`A = \Phi^\top\Phi + cI`, :math:`B = A^{-1}\Phi^\top Y` and :math:`R = Y - \Phi B` (n x m), the loss is
:math:`\sum_c g_c \|R_c\|^2` for some weights g. Its derivative in B needs :math:`\Phi^\top R`, which the fit has made
:math:`cB`: no product over rows. What is left, with :math:`W = -2c\,A^{-1}B\,\mathrm{diag}(g)` (r x m), is

.. math::

    \bar Y = 2R\,\mathrm{diag}(g) + \Phi W, \qquad \bar\Phi = R\,W^\top - \bar Y B^\top .

A chain of steps would multiply Φ with an r x r matrix twice; here every product has m columns, the few of labels.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from girl.kernel.precision import wide


class _RidgeSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, y: Tensor, features: Tensor, weight: float) -> Tensor:
        gram = (features.T @ features).to(wide(features))
        gram.diagonal().add_(weight)
        lower = torch.linalg.cholesky(gram)
        fit = torch.cholesky_solve((features.T @ y).to(gram.dtype), lower)
        residual = torch.addmm(y, features, fit.to(y.dtype), alpha=-1)
        ctx.save_for_backward(features, lower, fit, residual)
        ctx.weight = weight
        return residual.square().sum(0)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        features, lower, fit, residual = ctx.saved_tensors
        turned = torch.cholesky_solve(fit * grads[0].to(fit.dtype), lower).mul_(-2 * ctx.weight).to(features.dtype)
        into_y = torch.addmm(residual * (2 * grads[0]), features, turned)
        into_features = None
        if ctx.needs_input_grad[1]:
            into_features = torch.addmm(residual @ turned.T, into_y, fit.T.to(features.dtype), alpha=-1)
        return into_y if ctx.needs_input_grad[0] else None, into_features, None


def ridge_sums(y: Tensor, features: Tensor, weight: float) -> Tensor:
    r"""The sums over rows of squared residuals (m) of the ridge fit of y (n x m) on Φ (n x r) with c = ``weight``."""
    return _RidgeSums.apply(y, features, weight)
