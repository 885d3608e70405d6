r"""ρ̂ from features Φ (n x r), streaming over chunks of rows: O(nr(d + r + m)) time, no n x n and no n x m matrix.

Two passes. The first sums :math:`C = \Phi^\top\Phi` and :math:`\Phi^\top Y`, which give the core :math:`M = g(C)` and
the fit :math:`B = M\Phi^\top Y` (r x m). The second sums the residuals: row i of :math:`Y - \Phi B`, divided for
leave-one-out by :math:`1 - H_{ii} = 1 - \phi_i^\top M \phi_i`.

For a dense target the second pass forms the residual of one chunk at a time, which loses no digits. For a CSR target
and p = 2 it does not form it at all: with weights :math:`w_i = 1/(1-H_{ii})^2`,

.. math:: \sum_i w_i R_{ic}^2 = y_c^\top W y_c - 2\,b_c^\top(\Phi^\top W y_c) + b_c^\top(\Phi^\top W \Phi)\,b_c ,

in O(nr² + nnz(Y)r + r²m). Every sum is over rows, so chunks are exact, and so is a sum over processes.

With more than one chunk, features are computed again on the way back instead of being kept (checkpointing): memory is
that of a chunk, and of the gradient itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from girl.kernel import sparse
from girl.kernel.features import FeatureMap
from girl.kernel.norm import column_scale, inflation, mean_norm, power_sums, without_noise
from girl.kernel.precision import wide
from girl.kernel.smoother import Smoother


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


class _PowerSums(torch.autograd.Function):
    r""":math:`\sum_i |u_i (y_i - \phi_i^\top B)_c|^p` (m) from y (n x m), Φ (n x r), B (r x m), u (n) or None.

    Written as one step because the n x m residual is the largest matrix here: it is kept once, scaled in place.
    """

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
            into_inflate = torch.linalg.vecdot(flow, residual) / inflate
            flow.mul_(inflate.unsqueeze(1))
        into_y = flow if ctx.needs_input_grad[0] else None
        return into_y, flow @ -fit.T, (features.T @ flow).neg_(), into_inflate, None


def gram(features: Tensor) -> Tensor:
    """ΦᵀΦ (r x r), differentiable."""
    return _Gram.apply(features)  # type: ignore[no-any-return, no-untyped-call]


def own_weight(features: Tensor, core: Tensor) -> Tensor:
    """The diagonal of ΦMΦᵀ (n), differentiable in both."""
    return _OwnWeight.apply(features, core)  # type: ignore[no-any-return, no-untyped-call]


class _Dense:
    """A dense target, or a CSR one where p asks for its residuals: residuals are formed chunk by chunk."""

    count = 1

    def __init__(self, y: Tensor, p: float, chunk: int, dtype: torch.dtype) -> None:
        self.p, self.dtype = p, dtype
        if y.layout == torch.sparse_csr:
            self.chunks: Sequence[Tensor] = _sparse_chunks(y, chunk)
            scale = _sparse_scale(y)
        else:
            self.chunks = y.split(chunk)
            scale = column_scale(y)
        self.scale = None if p == 2 else scale.to(dtype)
        with torch.no_grad():
            sizes = (power_sums(self._chunk(index), p) for index in range(len(self.chunks)))
            self.size = sum(sizes, start=torch.zeros(y.shape[1], dtype=wide(y), device=y.device))

    def _chunk(self, index: int) -> Tensor:
        y = self.chunks[index]
        y = (y.to_dense() if y.layout == torch.sparse_csr else y).to(self.dtype)
        return y if self.scale is None else y / self.scale

    def project(self, index: int, features: Tensor) -> Tensor:
        return features.T @ self._chunk(index)

    def account(self, index: int, features: Tensor, fit: Tensor, inflate: Tensor | None) -> tuple[Tensor, ...]:
        sums = _PowerSums.apply(self._chunk(index), features, fit, inflate, self.p)  # type: ignore[no-untyped-call]
        return (sums.to(wide(fit)),)

    def rho(self, sums: Sequence[Tensor], fit: Tensor, weighted_gram: Tensor | None, rows: int) -> Tensor:
        return mean_norm(sums[0], self.size, rows, self.p, self.dtype, self.scale)


class _Moments:
    """A CSR target with p = 2: only sums over rows, nothing dense of its size."""

    count = 2

    def __init__(self, y: Tensor, chunk: int, dtype: torch.dtype) -> None:
        self.dtype = dtype
        y = sparse.csr(y.crow_indices(), y.col_indices(), y.values().detach().to(dtype), (y.shape[0], y.shape[1]))
        self.chunks = [(piece, sparse.transpose(piece)) for piece in _sparse_chunks(y, chunk)]
        self.size = torch.zeros(y.shape[1], dtype=wide(y), device=y.device)
        self.size.index_add_(0, y.col_indices(), y.values().to(wide(y)).square())

    def project(self, index: int, features: Tensor) -> Tensor:
        return sparse.project(features, *self.chunks[index])

    def account(self, index: int, features: Tensor, fit: Tensor, inflate: Tensor | None) -> tuple[Tensor, ...]:
        weight = torch.ones_like(features[:, 0]) if inflate is None else inflate.square()
        y, turned = self.chunks[index]
        squares = sparse.project(weight.unsqueeze(1), sparse.squared(y), sparse.squared(turned)).squeeze(0)
        return squares.to(wide(fit)), sparse.project(features * weight.unsqueeze(1), y, turned)

    def rho(self, sums: Sequence[Tensor], fit: Tensor, weighted_gram: Tensor | None, rows: int) -> Tensor:
        squares, cross = sums  # m, and r × m
        assert weighted_gram is not None
        inner = (fit * (weighted_gram.to(fit.dtype) @ fit - 2 * cross)).sum(0, dtype=wide(fit))
        # The terms cancel: what is left below the rounding of the largest is noise, whatever the target's own size.
        rounding = 4 * torch.finfo(self.dtype).eps * squares.detach()
        left = squares + inner
        return mean_norm(left.where(left > rounding, 0.0), self.size, rows, 2.0, self.dtype, None)


def lowrank_rho(
    x: Tensor,
    targets: tuple[Tensor, ...],
    features: FeatureMap,
    smoother: Smoother,
    leave_one_out: bool,
    p: float,
    chunk: int,
    dtype: torch.dtype,
) -> Tensor:
    """The sum over targets of ρ̂(Y|X), from rows ``x`` (n x d) through a feature map that all targets share."""
    n = x.shape[0]
    pieces = x.split(chunk)
    held = [
        _Moments(y, chunk, dtype) if y.layout == torch.sparse_csr and p == 2 else _Dense(y, p, chunk, dtype)
        for y in targets
    ]
    moments = any(isinstance(target, _Moments) for target in held)
    # One chunk keeps its features for both passes; several compute them anew.
    kept = features(x) if len(pieces) == 1 else None

    def sums(index: int, rows: Tensor) -> tuple[Tensor, ...]:
        phi = features(rows) if kept is None else kept
        return gram(phi).to(wide(x)), *(target.project(index, phi) for target in held)

    gram_sum, *projected = _over_chunks(sums, pieces)
    core = smoother.core(gram_sum, n)
    core_cast = core.to(dtype)
    fits = [core_cast @ v for v in projected]

    def residuals(index: int, rows: Tensor) -> tuple[Tensor, ...]:
        phi = features(rows) if kept is None else kept
        inflate = inflation(1 - own_weight(phi, core_cast)) if leave_one_out else None
        parts: list[Tensor] = []
        if moments:
            parts.append(gram(phi if inflate is None else phi * inflate.unsqueeze(1)).to(wide(x)))
        for target, fit in zip(held, fits, strict=True):
            parts.extend(target.account(index, phi, fit, inflate))
        return tuple(parts)

    found = _over_chunks(residuals, pieces)
    weighted = found.pop(0) if moments else None
    total = x.new_zeros((), dtype=wide(x))
    for target, fit in zip(held, fits, strict=True):
        total = total + target.rho(found[: target.count], fit, weighted, n)
        del found[: target.count]
    return total


def _over_chunks(function: Callable[[int, Tensor], tuple[Tensor, ...]], pieces: Sequence[Tensor]) -> list[Tensor]:
    """The elementwise sum of ``function(index, rows)`` over chunks, holding no chunk's intermediates."""
    total: list[Tensor] | None = None
    for index, rows in enumerate(pieces):
        if len(pieces) > 1 and torch.is_grad_enabled():
            parts = checkpoint(function, index, rows, use_reentrant=False, preserve_rng_state=False)
        else:
            parts = function(index, rows)
        total = list(parts) if total is None else [held + part for held, part in zip(total, parts, strict=True)]
    assert total is not None
    return total


def _sparse_chunks(y: Tensor, chunk: int) -> list[Tensor]:
    n = y.shape[0]
    return [sparse.rows(y, start, min(start + chunk, n)) for start in range(0, n, chunk)]


def _sparse_scale(y: Tensor) -> Tensor:
    largest = torch.zeros(y.shape[1], dtype=y.dtype, device=y.device)
    largest.scatter_reduce_(0, y.col_indices(), y.values().abs(), "amax")
    return largest.where(largest > 0, 1.0)
