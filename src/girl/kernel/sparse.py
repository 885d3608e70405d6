"""Sparse matrices in CSR form: conversions, row selection, and products with gradients for the dense side."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any, Protocol

import scipy.sparse
import torch
from torch import Tensor

#: Features are stored as CSR if fewer than this fraction of the entries are nonzero: products are then faster.
MAX_DENSITY = 0.15


def csr(crow: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A CSR tensor from its parts, which are not checked. Row pointers get the integer type of the columns."""
    crow = crow.to(col.dtype)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(crow, col, values, shape, check_invariants=False)


def index_dtype(*sizes: int) -> torch.dtype:
    """The integer type for a matrix of these many rows, columns and entries: 32 bits if they suffice."""
    return torch.int32 if max(sizes) < 2**31 else torch.int64


def to_scipy(x: Tensor) -> scipy.sparse.csr_matrix:
    """A CSR tensor on the CPU as a scipy matrix that shares the memory of its values."""
    parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
    return scipy.sparse.csr_matrix(parts, shape=tuple(x.shape))


def to_csr_or_dense(x: Any) -> Tensor:
    """A dense tensor or a scipy matrix (n × d) as float32: CSR below :data:`MAX_DENSITY`, else dense."""
    if isinstance(x, Tensor):
        if int(x.count_nonzero()) >= MAX_DENSITY * x.numel():
            return x.float().contiguous()
        x = x.float().numpy()
    x = scipy.sparse.csr_matrix(x, dtype="float32")
    if x.nnz >= MAX_DENSITY * x.shape[0] * x.shape[1]:
        return torch.from_numpy(x.toarray())
    return to_csr(x)


def to_csr(x: scipy.sparse.csr_matrix) -> Tensor:
    """A scipy matrix as a CSR tensor."""
    x.sort_indices()
    crow, col = torch.from_numpy(x.indptr).long(), torch.from_numpy(x.indices).long()
    return csr(crow, col, torch.from_numpy(x.data), (x.shape[0], x.shape[1]))


def slice_rows(x: Tensor, start: int, stop: int) -> Tensor:
    """Rows ``start`` to ``stop`` of a CSR tensor, sharing its memory."""
    crow = x.crow_indices()[start : stop + 1]
    entries = slice(int(crow[0]), int(crow[-1]))
    return csr(crow - crow[0], x.col_indices()[entries], x.values()[entries], (stop - start, x.shape[1]))


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
    return filter_entries(csr(part.crow_indices(), col, part.values(), (index.numel(), index.numel())), col >= 0)


def filter_entries(x: Tensor, mask: Tensor) -> Tensor:
    """A CSR tensor without the entries at which ``mask`` is false."""
    crow = torch.cat([mask.new_zeros(1, dtype=torch.long), mask.long().cumsum(0)])[x.crow_indices()]
    return csr(crow, x.col_indices()[mask], x.values()[mask], (x.shape[0], x.shape[1]))


def chunks(x: Tensor, size: int) -> list[Tensor]:
    """A CSR tensor in pieces of ``size`` rows; one without rows is a single piece."""
    n = x.shape[0]
    return [slice_rows(x, start, min(start + size, n)) for start in range(0, max(n, 1), size)]


def largest_entries(x: Tensor) -> Tensor:
    """The largest absolute entry of each column; 0 for an empty column."""
    largest = torch.zeros(x.shape[1], dtype=x.dtype, device=x.device)
    largest.scatter_reduce_(0, x.col_indices().long(), x.values().abs(), "amax")
    return largest


class LinearMap(Protocol):
    """A matrix A (n × m) that is only multiplied with: all that a layer needs of features and of message passing."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def __matmul__(self, z: Tensor, /) -> Tensor: ...

    def rows(self, index: Tensor, /) -> LinearMap: ...


class SparseMatrix:
    r"""A constant sparse matrix A (n × m). ``A @ z`` and ``A.t_matmul(z)`` are differentiable in the dense z.

    The gradient of A z is Aᵀg, for which torch would transpose A at every step. Here, on the CPU, Aᵀg is read from A
    itself; elsewhere the transpose is computed once, and its pattern is kept when only the values change
    (:meth:`with_values`).

    Args:
        tensor: A, a CSR tensor. Its indices are stored with 32 bits if they suffice, as scipy wants them.
        symmetric: whether A is its own transpose.
        transpose: Aᵀ as a CSR tensor, if it is known.
    """

    def __init__(self, tensor: Tensor, *, symmetric: bool = False, transpose: Tensor | None = None) -> None:
        self.shape = n, m = tensor.shape[0], tensor.shape[1]
        self.values = tensor.values()
        kind = index_dtype(n, m, self.values.numel())
        self.tensor = csr(tensor.crow_indices(), tensor.col_indices().to(kind), self.values, self.shape)
        self.symmetric = symmetric
        self._transpose = transpose
        self._pattern_source = self  # of the matrices with the same pattern, the first

    @cached_property
    def transpose(self) -> Tensor:
        """Aᵀ as a CSR tensor."""
        if self.symmetric or self._transpose is not None:
            return self.tensor if self._transpose is None else self._transpose
        crow, col, order = self._pattern_source._transpose_pattern
        return csr(crow, col, self.values[order], (self.shape[1], self.shape[0]))

    @cached_property
    def _transpose_pattern(self) -> tuple[Tensor, Tensor, Tensor]:
        """Row pointers and columns of Aᵀ, and the position of each of its entries in A.

        scipy counts where torch would sort, which is several times faster.
        """
        positions = torch.arange(1, self.values.numel() + 1)  # from 1: scipy may drop an explicit zero
        numbered = csr(self.tensor.crow_indices().cpu(), self.tensor.col_indices().cpu(), positions, self.shape)
        columns = to_scipy(numbered).tocsc()
        crow, col, order = (
            torch.from_numpy(x).to(self.values.device) for x in (columns.indptr, columns.indices, columns.data)
        )
        return crow, col, order - 1

    @cached_property
    def as_scipy(self) -> scipy.sparse.csr_matrix:
        """A as a scipy matrix that shares its memory."""
        return to_scipy(self.tensor)

    @cached_property
    def scipy_transpose(self) -> Any:
        """Aᵀ as a scipy matrix: CSR if it is known or symmetric, else CSC, which reads A's rows as columns."""
        if self.symmetric:
            return self.as_scipy
        return self.as_scipy.T if self._transpose is None else to_scipy(self._transpose)

    def with_values(self, values: Tensor) -> SparseMatrix:
        """The same positions with other values, which must be symmetric if the matrix is."""
        tensor = csr(self.tensor.crow_indices(), self.tensor.col_indices(), values, self.shape)
        matrix = SparseMatrix(tensor, symmetric=self.symmetric)
        matrix._pattern_source = self._pattern_source
        return matrix

    def rows(self, index: Tensor) -> SparseMatrix:
        """The rows ``index``."""
        return SparseMatrix(take_rows(self.tensor, index))

    def matmul_sparse(self, other: SparseMatrix) -> Tensor:
        """A B for a sparse B, as a dense tensor, without gradients."""
        if self.values.device.type != "cpu":
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

        torch's CSR product is the fastest on two threads, and ties with scipy's on one. If the transpose is not stored,
        scipy reads Aᵀz from the rows of A. torch_geometric's products, and torch's own gradient, are slower in the
        backward pass: they transpose or sort at every step.
        """
        z = z.detach().contiguous()
        if transpose and z.device.type == "cpu" and not self.symmetric and self._transpose is None:
            return torch.from_numpy(self.scipy_transpose @ z.numpy())
        return (self.transpose if transpose else self.tensor) @ z

    def to(self, device: torch.device | str) -> SparseMatrix:
        transpose = None if self._transpose is None else self._transpose.to(device)
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
