r"""Smoothers: linear fits that keep a fraction s(λ) of each eigenvector of K.

A smoother is :math:`H = U\,\mathrm{diag}(s(\lambda))\,U^\top`. It is needed in two forms:

- the *residual matrix* :math:`E = I - H = f(K)`, :math:`f = 1 - s`, n x n, on the exact path. Computing f directly
  keeps small residuals from being differences of large numbers;
- the *core* :math:`M = g(C)`, :math:`g(\lambda) = s(\lambda)/\lambda`, r x r with :math:`C = \Phi^\top\Phi`, on the
  low-rank path, where :math:`H = \Phi M \Phi^\top`.

Derivatives of a matrix function follow Daleckii and Krein: with :math:`A = U\Lambda U^\top` and the divided differences
:math:`\Gamma_{ij} = (f(\lambda_i)-f(\lambda_j))/(\lambda_i-\lambda_j)`,

.. math:: \bar A = U\,\bigl(\Gamma \circ (U^\top \bar F U)\bigr)\,U^\top .

Differentiating through eigenvectors would divide by :math:`\lambda_i-\lambda_j`, which is zero for repeated
eigenvalues. Here each :math:`\Gamma` has a closed form by cases and needs no tolerance.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

SmootherName = Literal["ridge", "clamp", "projection"]


class _MatrixFunction(torch.autograd.Function):
    """f(A) of a symmetric A (k x k) from ``scalar(λ) = f(λ)`` and ``divided_differences(a, b) = Γ`` for a ≥ b."""

    @staticmethod
    def forward(
        ctx: Any,
        matrix: Tensor,
        scalar: Callable[[Tensor], Tensor],
        divided_differences: Callable[[Tensor, Tensor], Tensor],
    ) -> Tensor:
        eigenvalues, vectors = torch.linalg.eigh(matrix)
        ctx.save_for_backward(eigenvalues, vectors)
        ctx.divided_differences = divided_differences
        return (vectors * scalar(eigenvalues)) @ vectors.T

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        eigenvalues, vectors = ctx.saved_tensors
        larger = torch.maximum(eigenvalues[:, None], eigenvalues[None, :])
        smaller = torch.minimum(eigenvalues[:, None], eigenvalues[None, :])
        inner = ctx.divided_differences(larger, smaller) * (vectors.T @ grads[0] @ vectors)
        return vectors @ ((inner + inner.T) / 2) @ vectors.T, None, None


class _InverseSPD(torch.autograd.Function):
    """The inverse of a symmetric positive definite matrix by Cholesky, at most a third of the cost of eigenvalues."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor) -> Tensor:
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(matrix))
        ctx.save_for_backward(inverse)
        return inverse

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (inverse,) = ctx.saved_tensors
        return -(inverse @ ((grads[0] + grads[0].T) / 2) @ inverse)


inverse_spd: Callable[[Tensor], Tensor] = _InverseSPD.apply


def _identity(like: Tensor) -> Tensor:
    return torch.eye(like.shape[0], dtype=like.dtype, device=like.device)


@dataclass(frozen=True)
class Ridge:
    r"""Kernel ridge regression, :math:`s(\lambda) = \lambda/(\lambda+n\tau)`, with the strength :math:`\tau`.

    The eigenvalues of K grow like n, and so does the penalty: the same strength smooths batches of any size equally.
    """

    strength: float = 1e-3
    truncates = False  # whether it cuts the spectrum at a level, so that small eigenvalues must be resolved

    def penalty(self, rows: int) -> float:
        r""":math:`n\tau`, which is added to the diagonal of K or C."""
        return rows * self.strength

    def residual_weights(self, eigenvalues: Tensor) -> Tensor:
        """1 - s(λ) (n), the fraction of each eigenvector of the exact K (n x n) that stays in the residual."""
        penalty = self.penalty(len(eigenvalues))
        return penalty / (eigenvalues.clamp(min=0) + penalty)

    def residual_matrix(self, kernel: Tensor) -> Tensor:
        """E = I - H (n x n) of the exact K (n x n)."""
        penalty = self.penalty(len(kernel))
        return penalty * inverse_spd(kernel + penalty * _identity(kernel))

    def core(self, gram: Tensor, rows: int) -> Tensor:
        """M (r x r) with H = ΦMΦᵀ, from C = ΦᵀΦ (r x r) over ``rows`` rows."""
        return inverse_spd(gram + self.penalty(rows) * _identity(gram))


@dataclass(frozen=True)
class Clamp:
    r"""The smoother of the paper's released code: :math:`s(\lambda) = \min(\lambda/c, 1)`, with the strength c = 1."""

    strength: float = 1.0
    truncates = True

    def residual_weights(self, eigenvalues: Tensor) -> Tensor:
        return (1 - eigenvalues.clamp(min=0) / self.strength).clamp(min=0)

    def residual_matrix(self, kernel: Tensor) -> Tensor:
        level = self.strength

        def divided_differences(a: Tensor, b: Tensor) -> Tensor:  # a ≥ b
            across = -(level - b) / (level * (a - b).clamp(min=torch.finfo(a.dtype).tiny))
            below = torch.full_like(a, -1 / level)
            return torch.where(a <= level, below, torch.where(b >= level, 0.0, across))

        return _MatrixFunction.apply(kernel, self.residual_weights, divided_differences)

    def core(self, gram: Tensor, rows: int) -> Tensor:
        level = self.strength

        def divided_differences(a: Tensor, b: Tensor) -> Tensor:  # of min(1/c, 1/λ)
            above = -1 / (a * b)
            across = -(a - level) / (a * level * (a - b))
            return torch.where(a <= level, 0.0, torch.where(b >= level, above, across))

        return _MatrixFunction.apply(gram, lambda v: 1 / v.clamp(min=level), divided_differences)


@dataclass(frozen=True)
class Projection:
    r"""The orthogonal projection of the paper's Theorem 4.2: :math:`s(\lambda) = 1[\lambda > t\,\lambda_{\max}]`.

    The strength t is a tolerance, for no computed eigenvalue is exactly zero. With distinct points K has full rank, so
    H = I and the in-sample residual vanishes whatever the target is. The projection is here to show this, not to train.
    """

    strength: float = 1e-4
    truncates = True

    def residual_weights(self, eigenvalues: Tensor) -> Tensor:
        return (eigenvalues <= self.strength * eigenvalues.max()).to(eigenvalues.dtype)

    def residual_matrix(self, kernel: Tensor) -> Tensor:
        def divided_differences(a: Tensor, b: Tensor) -> Tensor:
            level = self.strength * a.max()
            return torch.where((a > level) & (b <= level), -1 / (a - b), 0.0)

        return _MatrixFunction.apply(kernel, self.residual_weights, divided_differences)

    def core(self, gram: Tensor, rows: int) -> Tensor:
        def divided_differences(a: Tensor, b: Tensor) -> Tensor:
            level = self.strength * a.max()
            return torch.where(b > level, -1 / (a * b), torch.where(a > level, 1 / (a * (a - b)), 0.0))

        return _MatrixFunction.apply(
            gram, lambda v: torch.where(v > self.strength * v.max(), 1 / v, 0.0), divided_differences
        )


Smoother = Ridge | Clamp | Projection
SMOOTHERS: dict[str, type[Smoother]] = {"ridge": Ridge, "clamp": Clamp, "projection": Projection}
