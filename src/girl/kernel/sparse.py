"""Products with CSR targets that torch leaves out: row ranges, a fast transpose, and a gradient for the dense side."""

from __future__ import annotations

import warnings
from typing import Any

import scipy.sparse
import torch
from torch import Tensor


def csr(crow: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A CSR tensor from its parts, which are trusted; places are of the type of the columns, 32 or 64 bits."""
    crow = crow.to(col.dtype)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(crow, col, values, shape, check_invariants=False)


def rows(y: Tensor, start: int, stop: int) -> Tensor:
    """Rows ``start`` to ``stop`` of a CSR matrix, sharing its memory."""
    crow = y.crow_indices()
    low, high = int(crow[start]), int(crow[stop])
    part = crow[start : stop + 1] - low
    return csr(part, y.col_indices()[low:high], y.values()[low:high], (stop - start, y.shape[1]))


def transpose(y: Tensor) -> Tensor:
    """The CSR matrix of yᵀ. On the CPU scipy counts where torch would sort, about eight times faster."""
    if y.device.type != "cpu":
        return y.t().to_sparse_csr()
    parts = (y.values().numpy(), y.col_indices().numpy(), y.crow_indices().numpy())
    turned = scipy.sparse.csr_matrix(parts, shape=tuple(y.shape)).tocsc()
    crow, col = torch.from_numpy(turned.indptr).long(), torch.from_numpy(turned.indices).long()
    return csr(crow, col, torch.from_numpy(turned.data), (y.shape[1], y.shape[0]))


def squared(y: Tensor) -> Tensor:
    """The CSR matrix of the squared entries."""
    return csr(y.crow_indices(), y.col_indices(), y.values().square(), (y.shape[0], y.shape[1]))


class _Project(torch.autograd.Function):
    """Φᵀy (r x m) for dense Φ (n x r) and constant CSR y, given with its transpose."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, y: Tensor, turned: Tensor) -> Tensor:
        ctx.y = y
        return (turned @ features).T

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return ctx.y @ grads[0].T.contiguous(), None, None


def project(features: Tensor, y: Tensor, turned: Tensor) -> Tensor:
    """Φᵀy (r x m) in O(nnz(y) r), differentiable in the features; ``turned`` is :func:`transpose` of ``y``."""
    return _Project.apply(features, y, turned)


def chunks(y: Tensor, size: int) -> list[Tensor]:
    """A CSR matrix in pieces of ``size`` rows; one without rows is a piece itself."""
    n = y.shape[0]
    return [rows(y, start, min(start + size, n)) for start in range(0, max(n, 1), size)]


def largest_entries(y: Tensor) -> Tensor:
    """The largest entry of each column in size; 0 for an empty column."""
    largest = torch.zeros(y.shape[1], dtype=y.dtype, device=y.device)
    largest.scatter_reduce_(0, y.col_indices(), y.values().abs(), "amax")
    return largest
