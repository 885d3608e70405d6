"""A constant sparse matrix with its transpose at hand: products that are differentiable in the dense side."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from girl.kernel.sparse import csr

#: With more threads than this torch's product, which shares the rows among them, overtakes scipy's on the CPU.
SCIPY_THREADS = 2


class Operator:
    """A sparse matrix A (n × m) of constants. ``A @ z`` is differentiable in ``z`` (m × k).

    The gradient Aᵀg needs Aᵀ in rows, which torch would sort for at each step: here it is made once, and kept. The
    transpose shares its structure when only the values change (:meth:`with_values`).
    """

    def __init__(self, matrix: Tensor, turned: Tensor, order: Tensor | None) -> None:
        self.matrix = matrix
        self.turned = turned
        self._order = order  # position in ``matrix`` of each entry of ``turned``

    @classmethod
    def of(cls, matrix: Tensor, symmetric: bool = False) -> Operator:
        """The operator of a CSR matrix; one that is symmetric is its own transpose."""
        if symmetric:
            return cls(matrix, matrix, None)
        n, m = matrix.shape
        places = np.arange(1, matrix.values().numel() + 1)  # from 1: scipy may drop an explicit zero
        parts = (places, matrix.col_indices().cpu().numpy(), matrix.crow_indices().cpu().numpy())
        turned = scipy.sparse.csr_matrix(parts, shape=(n, m)).tocsc()
        order = torch.from_numpy(turned.data - 1).to(matrix.device)
        crow = torch.from_numpy(turned.indptr).long().to(matrix.device)
        col = torch.from_numpy(turned.indices).long().to(matrix.device)
        return cls(matrix, csr(crow, col, matrix.values()[order], (m, n)), order)

    @classmethod
    def from_entries(cls, row: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Operator:
        """The operator with ``values`` at (row, col); entries at one place are added."""
        flat = row * shape[1] + col
        place, inverse = torch.unique(flat, return_inverse=True)
        total = torch.zeros(place.numel(), dtype=values.dtype, device=values.device).index_add_(0, inverse, values)
        count = torch.bincount(place // shape[1], minlength=shape[0])
        crow = torch.cat([count.new_zeros(1), count.cumsum(0)])
        return cls.of(csr(crow, place % shape[1], total, shape))

    @property
    def shape(self) -> tuple[int, int]:
        """N and m."""
        return self.matrix.shape[0], self.matrix.shape[1]

    @property
    def values(self) -> Tensor:
        """The stored entries, in the order of the rows."""
        return self.matrix.values()

    def with_values(self, values: Tensor) -> Operator:
        """The same places with other entries. A symmetric operator stays so: ``values`` must be symmetric too."""
        matrix = csr(self.matrix.crow_indices(), self.matrix.col_indices(), values, self.shape)
        if self.turned is self.matrix:
            return Operator(matrix, matrix, None)
        assert self._order is not None
        shape = (self.shape[1], self.shape[0])
        turned = csr(self.turned.crow_indices(), self.turned.col_indices(), values[self._order], shape)
        return Operator(matrix, turned, self._order)

    def rows(self, index: Tensor) -> Operator:
        """The operator of some rows only, in the order of ``index``."""
        return Operator.of(take_rows(self.matrix, index))

    def submatrix(self, index: Tensor) -> Operator:
        """The operator among some of the nodes (a square matrix is meant): rows and columns ``index``."""
        place = torch.full((self.shape[1],), -1, dtype=torch.long, device=index.device)
        place[index] = torch.arange(index.numel(), device=index.device)
        some = take_rows(self.matrix, index)
        col = place[some.col_indices()]
        keep = col >= 0
        crow = torch.cat([keep.new_zeros(1, dtype=torch.long), keep.long().cumsum(0)])[some.crow_indices()]
        return Operator.of(csr(crow, col[keep], some.values()[keep], (index.numel(), index.numel())))

    def __matmul__(self, z: Tensor) -> Tensor:
        """A z (n × k)."""
        return _Product.apply(z, self.matrix, self.turned)

    def t_matmul(self, z: Tensor) -> Tensor:
        """Aᵀz (m × k)."""
        return _Product.apply(z, self.turned, self.matrix)

    def to(self, device: torch.device | str) -> Operator:
        """The operator on another device."""
        matrix = self.matrix.to(device)
        turned = matrix if self.turned is self.matrix else self.turned.to(device)
        return Operator(matrix, turned, None if self._order is None else self._order.to(device))


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, matrix: Tensor, turned: Tensor) -> Tensor:
        ctx.turned = turned
        return product(matrix, z)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return product(ctx.turned, grads[0]), None, None


def product(matrix: Tensor, z: Tensor) -> Tensor:
    """A z for CSR A, by the faster of two libraries: scipy's is about twice as fast as torch's on one or two cores."""
    if z.device.type != "cpu" or torch.get_num_threads() > SCIPY_THREADS:
        return matrix @ z.contiguous()
    parts = (matrix.values().numpy(), matrix.col_indices().numpy(), matrix.crow_indices().numpy())
    known = scipy.sparse.csr_matrix(parts, shape=tuple(matrix.shape))
    return torch.from_numpy(known @ z.detach().contiguous().numpy())


def take_rows(matrix: Tensor, index: Tensor) -> Tensor:
    """Rows ``index`` of a CSR matrix, as a CSR matrix."""
    crow = matrix.crow_indices()
    start, count = crow[index], crow[index + 1] - crow[index]
    ends = count.cumsum(0)
    total = int(ends[-1]) if ends.numel() else 0
    # Entry e of the result lies in row i (the first whose end is past e), at its start plus how far e is into the row.
    jump = start - (ends - count)
    place = torch.arange(total, device=crow.device) + torch.repeat_interleave(jump, count)
    new = torch.cat([ends.new_zeros(1), ends])
    return csr(new, matrix.col_indices()[place], matrix.values()[place], (index.numel(), matrix.shape[1]))
