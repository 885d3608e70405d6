r"""Smoothers: what a linear fit keeps of each eigenvector of K, and derivatives that never touch eigenvectors alone.

A smoother is a function of the eigenvalues, :math:`H = U\,\mathrm{diag}(s(\lambda))\,U^\top`, in one of two forms:

- *remainder* :math:`E = I - H = f(K)`, :math:`f = 1 - s`, n x n, for the exact path; computed as such, so that small
  residuals are not differences of large numbers;
- *core* :math:`M = g(C)`, :math:`g(\lambda) = s(\lambda)/\lambda`, r x r with :math:`C = \Phi^\top\Phi`, for the
  low-rank path, where :math:`H = \Phi M \Phi^\top`.

Derivatives of a matrix function follow Daleckii and Krein: with :math:`A = U\Lambda U^\top` and the divided differences
:math:`\Gamma_{ij} = (f(\lambda_i)-f(\lambda_j))/(\lambda_i-\lambda_j)`,

.. math:: \bar A = U\,\bigl(\Gamma \circ (U^\top \bar F U)\bigr)\,U^\top .

Differentiating through eigenvectors would instead divide by :math:`\lambda_i-\lambda_j`, which repeated eigenvalues
make zero. Here each :math:`\Gamma` has a closed form by cases, without a tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

SmootherName = Literal["ridge", "clamp", "projection"]


class _MatrixFunction(torch.autograd.Function):
    """f(A) of a symmetric A from ``scalar(λ) -> f(λ)`` and ``differences(λ_i, λ_j) -> Γ``."""

    @staticmethod
    def forward(
        ctx: Any,
        matrix: Tensor,
        scalar: Callable[[Tensor], Tensor],
        differences: Callable[[Tensor, Tensor], Tensor],
    ) -> Tensor:
        eigenvalues, vectors = torch.linalg.eigh(matrix)
        ctx.save_for_backward(eigenvalues, vectors)
        ctx.differences = differences
        return (vectors * scalar(eigenvalues)) @ vectors.T

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        eigenvalues, vectors = ctx.saved_tensors
        larger = torch.maximum(eigenvalues[:, None], eigenvalues[None, :])
        smaller = torch.minimum(eigenvalues[:, None], eigenvalues[None, :])
        inner = ctx.differences(larger, smaller) * (vectors.T @ grads[0] @ vectors)
        return vectors @ ((inner + inner.T) / 2) @ vectors.T, None, None


def matrix_function(
    matrix: Tensor, scalar: Callable[[Tensor], Tensor], differences: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """f(A) for symmetric A (k x k); ``differences(a, b)`` gives the divided differences for a ≥ b, elementwise."""
    return _MatrixFunction.apply(matrix, scalar, differences)


class _InverseSPD(torch.autograd.Function):
    """The inverse of a symmetric positive definite matrix by Cholesky, a third of the cost of eigenvalues or less."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor) -> Tensor:
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(matrix))
        ctx.save_for_backward(inverse)
        return inverse

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (inverse,) = ctx.saved_tensors
        return -(inverse @ ((grads[0] + grads[0].T) / 2) @ inverse)


def inverse_spd(matrix: Tensor) -> Tensor:
    """The inverse of a symmetric positive definite matrix, differentiable."""
    return _InverseSPD.apply(matrix)


def _identity(like: Tensor) -> Tensor:
    return torch.eye(like.shape[0], dtype=like.dtype, device=like.device)


class Smoother(Protocol):
    """One choice of s(λ); ``strength`` is how much it smooths."""

    #: Whether it cuts the spectrum at a level, so that small eigenvalues must be resolved.
    cuts: bool

    def leaves(self, eigenvalues: Tensor) -> Tensor:
        """1 - s(λ), the share of each eigenvector of the exact K (n x n) that is left in the residual."""

    def remainder(self, kernel: Tensor) -> Tensor:
        """E = I - H (n x n) of the exact K (n x n)."""

    def core(self, gram: Tensor, rows: int) -> Tensor:
        """M (r x r) with H = ΦMΦᵀ, from C = ΦᵀΦ (r x r) over ``rows`` rows."""


@dataclass(frozen=True)
class Ridge:
    r""":math:`s(\lambda) = \lambda/(\lambda+n\tau)`, :math:`\tau` the strength.

    Eigenvalues of K grow like n; so does the term they are weighed against, and the same strength means the same
    amount of smoothing in a batch of any size.
    """

    strength: float = 1e-3
    cuts = False

    def leaves(self, eigenvalues: Tensor) -> Tensor:
        weight = len(eigenvalues) * self.strength
        return weight / (eigenvalues.clamp(min=0) + weight)

    def remainder(self, kernel: Tensor) -> Tensor:
        weight = kernel.shape[0] * self.strength
        return weight * inverse_spd(kernel + weight * _identity(kernel))

    def core(self, gram: Tensor, rows: int) -> Tensor:
        return inverse_spd(gram + self.weight(rows) * _identity(gram))

    def weight(self, rows: int) -> float:
        r""":math:`n\tau`, what is added to the diagonal of C."""
        return rows * self.strength


@dataclass(frozen=True)
class Clamp:
    r""":math:`s(\lambda) = \min(\lambda/c, 1)`, c the strength: the published code's choice, with c = 1."""

    strength: float = 1.0
    cuts = True

    def leaves(self, eigenvalues: Tensor) -> Tensor:
        return (1 - eigenvalues.clamp(min=0) / self.strength).clamp(min=0)

    def remainder(self, kernel: Tensor) -> Tensor:
        level = self.strength

        def differences(a: Tensor, b: Tensor) -> Tensor:  # a ≥ b
            across = -(level - b) / (level * (a - b).clamp(min=torch.finfo(a.dtype).tiny))
            below = torch.full_like(a, -1 / level)
            return torch.where(a <= level, below, torch.where(b >= level, 0.0, across))

        return matrix_function(kernel, self.leaves, differences)

    def core(self, gram: Tensor, rows: int) -> Tensor:
        level = self.strength

        def differences(a: Tensor, b: Tensor) -> Tensor:  # of min(1/c, 1/λ)
            above = -1 / (a * b)
            across = -(a - level) / (a * level * (a - b))
            return torch.where(a <= level, 0.0, torch.where(b >= level, above, across))

        return matrix_function(gram, lambda v: 1 / v.clamp(min=level), differences)


@dataclass(frozen=True)
class Projection:
    r""":math:`s(\lambda) = 1[\lambda > t\,\lambda_{\max}]`, t the strength: the paper's orthogonal projection.

    A tolerance is needed because no computed eigenvalue is zero. For distinct points K has full rank, H = I and the
    in-sample residual vanishes whatever the target: the projection is here to show that, not to train with.
    """

    strength: float = 1e-4
    cuts = True

    def leaves(self, eigenvalues: Tensor) -> Tensor:
        return (eigenvalues <= self.strength * eigenvalues.max()).to(eigenvalues.dtype)

    def remainder(self, kernel: Tensor) -> Tensor:
        def differences(a: Tensor, b: Tensor) -> Tensor:
            level = self.strength * a.max()
            return torch.where((a > level) & (b <= level), -1 / (a - b), 0.0)

        return matrix_function(kernel, self.leaves, differences)

    def core(self, gram: Tensor, rows: int) -> Tensor:
        def differences(a: Tensor, b: Tensor) -> Tensor:
            level = self.strength * a.max()
            return torch.where(b > level, -1 / (a * b), torch.where(a > level, 1 / (a * (a - b)), 0.0))

        return matrix_function(gram, lambda v: torch.where(v > self.strength * v.max(), 1 / v, 0.0), differences)


SMOOTHERS: dict[str, type[Ridge] | type[Clamp] | type[Projection]] = {
    "ridge": Ridge,
    "clamp": Clamp,
    "projection": Projection,
}
