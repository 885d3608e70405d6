"""Sparse matrices in CSR form: conversions, row selection, and products with gradients for the dense side."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

#: With more threads than this torch's product, which splits the rows among them, overtakes scipy's on the CPU
#: (results/bench/sparse.json).
SCIPY_THREADS = 2

#: Features are stored as CSR if fewer than this fraction of the entries are nonzero: products are then faster.
MAX_DENSITY = 0.15


def csr(crow: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A CSR tensor from its parts, which are not checked. Row pointers get the integer type of the columns."""
    crow = crow.to(col.dtype)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(crow, col, values, shape, check_invariants=False)


def to_scipy(x: Tensor) -> scipy.sparse.csr_matrix:
    """A CSR tensor on the CPU as a scipy matrix that shares the memory of its values."""
    parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
    return scipy.sparse.csr_matrix(parts, shape=tuple(x.shape))


def from_scipy(x: scipy.sparse.csr_matrix) -> Tensor:
    """A scipy CSR matrix as a CSR tensor that shares its memory, also that of the indices (32 or 64 bits)."""
    crow, col, values = (torch.from_numpy(part) for part in (x.indptr, x.indices, x.data))
    return csr(crow, col, values, (x.shape[0], x.shape[1]))


def to_csr_or_dense(x: Any) -> Tensor:
    """A dense tensor or a scipy matrix (n × d) as float32: CSR below :data:`MAX_DENSITY`, else dense."""
    if isinstance(x, Tensor):
        if int(x.count_nonzero()) >= MAX_DENSITY * x.numel():
            return x.float().contiguous()
        x = x.float().numpy()
    x = scipy.sparse.csr_matrix(x, dtype="float32")
    if x.nnz >= MAX_DENSITY * x.shape[0] * x.shape[1]:
        return torch.from_numpy(x.toarray())
    x.sort_indices()
    crow, col = torch.from_numpy(x.indptr).long(), torch.from_numpy(x.indices).long()
    return csr(crow, col, torch.from_numpy(x.data), (x.shape[0], x.shape[1]))


def slice_rows(x: Tensor, start: int, stop: int) -> Tensor:
    """Rows ``start`` to ``stop`` of a CSR tensor, sharing its memory."""
    crow = x.crow_indices()
    first, last = int(crow[start]), int(crow[stop])
    return csr(
        crow[start : stop + 1] - first, x.col_indices()[first:last], x.values()[first:last], (stop - start, x.shape[1])
    )


def take_rows(x: Tensor, index: Tensor) -> Tensor:
    """Rows ``index`` of a CSR tensor, as a CSR tensor."""
    entry, crow = entries_of_rows(x, index)
    return csr(crow, x.col_indices()[entry], x.values()[entry], (index.numel(), x.shape[1]))


def entries_of_rows(x: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
    """The positions of the entries of rows ``index`` among those of a CSR tensor, and the row pointers they form."""
    crow = x.crow_indices()
    start, count = crow[index], crow[index + 1] - crow[index]
    ends = count.cumsum(0)
    total = int(ends[-1]) if ends.numel() else 0
    # Entry e of the result is in row i (the first that ends after e), at the row's start plus e's offset in the row.
    shift = torch.repeat_interleave(start - (ends - count), count)
    return torch.arange(total, device=crow.device) + shift, torch.cat([ends.new_zeros(1), ends])


def submatrix(x: Tensor, index: Tensor) -> Tensor:
    """The rows and columns ``index`` of a square CSR tensor."""
    part = take_rows(x, index)
    kind = part.col_indices().dtype
    position = torch.full((x.shape[1],), -1, dtype=kind, device=index.device)
    position[index] = torch.arange(index.numel(), dtype=kind, device=index.device)
    col = position.index_select(0, part.col_indices())
    keep = col >= 0
    crow = torch.cat([keep.new_zeros(1, dtype=torch.long), keep.long().cumsum(0)])[part.crow_indices()]
    return csr(crow, col[keep], part.values()[keep], (index.numel(), index.numel()))


def chunks(x: Tensor, size: int) -> list[Tensor]:
    """A CSR tensor in pieces of ``size`` rows; one without rows is a single piece."""
    n = x.shape[0]
    return [slice_rows(x, start, min(start + size, n)) for start in range(0, max(n, 1), size)]


def largest_entries(x: Tensor) -> Tensor:
    """The largest absolute entry of each column; 0 for an empty column."""
    largest = torch.zeros(x.shape[1], dtype=x.dtype, device=x.device)
    largest.scatter_reduce_(0, x.col_indices(), x.values().abs(), "amax")
    return largest


class LinearMap(Protocol):
    """A matrix A (n × m) that is only multiplied with: all that a layer needs of features and of message passing."""

    @property
    def shape(self) -> tuple[int, int]:
        """N and m."""
        ...

    def __matmul__(self, z: Tensor, /) -> Tensor:
        """A z (n × k), differentiable."""
        ...

    def rows(self, index: Tensor, /) -> LinearMap:
        """The rows ``index`` of A."""
        ...


class _Pattern:
    """The positions of a matrix's entries, in the forms that products need; each is computed once."""

    def __init__(self, crow: Tensor, col: Tensor, shape: tuple[int, int]) -> None:
        self.crow, self.col, self.shape = crow, col, shape

    @cached_property
    def as_scipy(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Columns and row pointers as scipy wants them: 32 bits if those are enough."""
        parts = (np.empty(self.col.numel(), bool), self.col.numpy(), self.crow.numpy())
        matrix = scipy.sparse.csr_matrix(parts, shape=self.shape)
        return matrix.indices, matrix.indptr

    @cached_property
    def transpose(self) -> tuple[Tensor, Tensor, Tensor]:
        """Row pointers and columns of the transpose, and the position of each of its entries in the original.

        scipy counts where torch would sort, which is several times faster.
        """
        order = np.arange(1, self.col.numel() + 1)  # from 1: scipy may drop an explicit zero
        matrix = scipy.sparse.csr_matrix((order, self.col.cpu().numpy(), self.crow.cpu().numpy()), shape=self.shape)
        matrix = matrix.tocsc()
        device, kind = self.col.device, self.col.dtype
        crow, col = (torch.from_numpy(part).to(device, kind) for part in (matrix.indptr, matrix.indices))
        return crow, col, torch.from_numpy(matrix.data - 1).to(device)


class SparseMatrix:
    r"""A constant sparse matrix A (n × m). ``A @ z`` and ``A.t_matmul(z)`` are differentiable in the dense z.

    The gradient of A z is Aᵀg, for which torch would transpose A at every step. Here, on the CPU, Aᵀg is read from A
    itself; elsewhere the transpose is computed once, and its pattern is kept when only the values change
    (:meth:`with_values`).

    Args:
        tensor: A, a CSR tensor.
        symmetric: whether A is its own transpose.
        transpose: Aᵀ as a CSR tensor, if it is known.
    """

    def __init__(self, tensor: Tensor, *, symmetric: bool = False, transpose: Tensor | None = None) -> None:
        self.tensor, self.symmetric = tensor, symmetric
        self._transpose = tensor if symmetric else transpose
        self._pattern = _Pattern(tensor.crow_indices(), tensor.col_indices(), self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """N and m."""
        return self.tensor.shape[0], self.tensor.shape[1]

    @property
    def values(self) -> Tensor:
        """The stored entries, row by row."""
        return self.tensor.values()

    @property
    def transpose(self) -> Tensor:
        """Aᵀ as a CSR tensor."""
        if self._transpose is None:
            crow, col, order = self._pattern.transpose
            self._transpose = csr(crow, col, self.values[order], (self.shape[1], self.shape[0]))
        return self._transpose

    @cached_property
    def as_scipy(self) -> scipy.sparse.csr_matrix:
        """A as a scipy matrix that shares the memory of its entries."""
        return scipy.sparse.csr_matrix((self.values.numpy(), *self._pattern.as_scipy), shape=self.shape)

    @cached_property
    def scipy_transpose(self) -> Any:
        """Aᵀ as a scipy matrix: CSR if it is known or symmetric, else CSC, which reads A's rows as columns."""
        if self.symmetric:
            return self.as_scipy
        return self.as_scipy.T if self._transpose is None else SparseMatrix(self._transpose).as_scipy

    def with_values(self, values: Tensor) -> SparseMatrix:
        """The same positions with other values, which must be symmetric if the matrix is."""
        matrix = SparseMatrix(csr(self._pattern.crow, self._pattern.col, values, self.shape), symmetric=self.symmetric)
        matrix._pattern = self._pattern
        return matrix

    def rows(self, index: Tensor) -> SparseMatrix:
        """The rows ``index``."""
        return SparseMatrix(take_rows(self.tensor, index))

    def matmul_sparse(self, other: SparseMatrix) -> Tensor:
        """A B for a sparse B, as a dense tensor, without gradients."""
        if self.tensor.device.type != "cpu":
            return (self.tensor @ other.tensor).to_dense()
        return torch.from_numpy((self.as_scipy @ other.as_scipy).toarray())

    def __matmul__(self, z: Tensor) -> Tensor:
        """A z (n × k)."""
        return _Product.apply(z, self, False)

    def t_matmul(self, z: Tensor) -> Tensor:
        """Aᵀz (m × k)."""
        return _Product.apply(z, self, True)

    def product(self, z: Tensor, transpose: bool = False) -> Tensor:
        """A z or Aᵀz, without gradients, by the fastest way (measured in results/bench/sparse.json).

        scipy's product is the fastest on one or two threads. It reads Aᵀz from the rows of A: the rows of z are then
        read once and in order, which is faster than from the rows of Aᵀ, and gives the same bits.
        """
        z = z.detach().contiguous()
        known = not transpose or self._transpose is not None
        if z.device.type != "cpu" or (known and torch.get_num_threads() > SCIPY_THREADS):
            return (self.transpose if transpose else self.tensor) @ z
        return torch.from_numpy((self.scipy_transpose if transpose else self.as_scipy) @ z.numpy())

    def to(self, device: torch.device | str) -> SparseMatrix:
        """The matrix on another device."""
        transpose = None if self.symmetric or self._transpose is None else self._transpose.to(device)
        return SparseMatrix(self.tensor.to(device), symmetric=self.symmetric, transpose=transpose)


class _Product(torch.autograd.Function):
    """A z or Aᵀz. The gradient is the other product, and is differentiable as well."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, matrix: SparseMatrix, transpose: bool) -> Tensor:
        ctx.arguments = matrix, transpose
        return matrix.product(z, transpose)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        matrix, transpose = ctx.arguments
        return _Product.apply(grads[0], matrix, not transpose), None, None
