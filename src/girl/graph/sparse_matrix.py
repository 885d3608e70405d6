"""A constant sparse matrix whose products, and those of its transpose, are differentiable in the dense side."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from girl.kernel.sparse import csr

#: With more threads than this torch's product, which shares the rows among them, overtakes scipy's on the CPU.
SCIPY_THREADS = 2

#: Bytes of a block of columns that is diffused at a time: a few such blocks stay in the cache from step to step.
BLOCK_BYTES = 1 << 20
#: Entries of a matrix along which gradients are read at a time.
ENTRIES = 1 << 16
#: Columns that a block has at least: one line of the cache.
BLOCK_COLUMNS = 16


class Places:
    """Where a matrix has entries, in the forms that products need. Each is made once, when first asked for."""

    def __init__(self, crow: Tensor, col: Tensor, shape: tuple[int, int]) -> None:
        self.crow, self.col, self.shape = crow, col, shape

    @cached_property
    def known(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Columns and row pointers as scipy wants them: of 32 bits, where those do."""
        found = scipy.sparse.csr_matrix(
            (np.empty(self.col.numel(), bool), self.col.numpy(), self.crow.numpy()), shape=self.shape
        )
        return found.indices, found.indptr

    @cached_property
    def turned(self) -> tuple[Tensor, Tensor, Tensor]:
        """Row pointers and columns of the transpose, and the position of each of its entries among the original's."""
        places = np.arange(1, self.col.numel() + 1)  # from 1: scipy may drop an explicit zero
        found = scipy.sparse.csr_matrix((places, self.col.cpu().numpy(), self.crow.cpu().numpy()), shape=self.shape)
        turned = found.tocsc()
        device = self.col.device
        crow, col = torch.from_numpy(turned.indptr).long(), torch.from_numpy(turned.indices).long()
        return crow.to(device), col.to(device), torch.from_numpy(turned.data - 1).to(device)


class Operator:
    """A sparse matrix A (n × m) of constants. ``A @ z`` is differentiable in ``z`` (m × k).

    The gradient Aᵀg is a product with the transpose, which torch would sort for at each step. On the CPU it is taken
    from A itself, read by columns; elsewhere the transpose is made once, and its structure kept when only the values
    change (:meth:`with_values`).
    """

    def __init__(
        self, matrix: Tensor, turned: Tensor | None = None, symmetric: bool = False, places: Places | None = None
    ) -> None:
        self.matrix = matrix
        self.symmetric = symmetric
        self._turned = matrix if symmetric else turned
        self._places = places or Places(matrix.crow_indices(), matrix.col_indices(), self.shape)

    @classmethod
    def of(cls, matrix: Tensor, symmetric: bool = False) -> Operator:
        """The operator of a CSR matrix; one that is symmetric is its own transpose."""
        return cls(matrix, symmetric=symmetric)

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

    @property
    def turned(self) -> Tensor:
        """Aᵀ as a CSR matrix."""
        if self._turned is None:
            crow, col, order = self._places.turned
            self._turned = csr(crow, col, self.values[order], (self.shape[1], self.shape[0]))
        return self._turned

    @cached_property
    def known(self) -> Any:
        """A as scipy's CSR matrix, sharing the memory of its entries."""
        return scipy.sparse.csr_matrix((self.values.numpy(), *self._places.known), shape=self.shape)

    @cached_property
    def known_turned(self) -> Any:
        """Aᵀ as scipy's matrix: itself if symmetric, in rows if it was made, else A's own rows as its columns."""
        if self.symmetric:
            return self.known
        return self.known.T if self._turned is None else Operator(self._turned).known

    def with_values(self, values: Tensor) -> Operator:
        """The same places with other entries. A symmetric operator stays so: ``values`` must be symmetric too."""
        matrix = csr(self._places.crow, self._places.col, values, self.shape)
        return Operator(matrix, symmetric=self.symmetric, places=self._places)

    def rows(self, index: Tensor) -> Operator:
        """The operator of some rows only, in the order of ``index``."""
        return Operator.of(take_rows(self.matrix, index))

    def submatrix(self, index: Tensor) -> Operator:
        """The operator among some of the nodes (a square matrix is meant): rows and columns ``index``."""
        some = take_rows(self.matrix, index)
        kind = some.col_indices().dtype
        place = torch.full((self.shape[1],), -1, dtype=kind, device=index.device)
        place[index] = torch.arange(index.numel(), dtype=kind, device=index.device)
        col = place.index_select(0, some.col_indices())
        keep = col >= 0
        crow = torch.cat([keep.new_zeros(1, dtype=torch.long), keep.long().cumsum(0)])[some.crow_indices()]
        return Operator.of(csr(crow, col[keep], some.values()[keep], (index.numel(), index.numel())))

    def times(self, other: Operator) -> Tensor:
        """A B (n × k) of two operators, written out, without gradients."""
        if self.matrix.device.type != "cpu":
            return (self.matrix @ other.matrix).to_dense()
        return torch.from_numpy((self.known @ other.known).toarray())

    def __matmul__(self, z: Tensor) -> Tensor:
        """A z (n × k)."""
        return _Product.apply(z, self, False)

    def t_matmul(self, z: Tensor) -> Tensor:
        """Aᵀz (m × k)."""
        return _Product.apply(z, self, True)

    def product(self, z: Tensor, turned: bool) -> Tensor:
        """A z or Aᵀz, without gradients, by the fastest way.

        On one or two cores scipy's product is about twice as fast as torch's. It takes Aᵀz from the rows of A: rows of
        z are then read once and in order, which is faster than from the rows of Aᵀ, and gives the same bits.
        """
        many = torch.get_num_threads() > SCIPY_THREADS and not (turned and self._turned is None)
        if z.device.type != "cpu" or many:
            return (self.turned if turned else self.matrix) @ z.detach().contiguous()
        return torch.from_numpy((self.known_turned if turned else self.known) @ z.detach().contiguous().numpy())

    def diffuse(
        self, x: Tensor, teleport: float, steps: int, turned: bool = False, rows: Tensor | None = None
    ) -> Tensor:
        r"""What ``steps`` of :math:`z \leftarrow (1-\alpha)Az + \alpha x` make of z = x (n × k, A n × n), or some rows.

        ``turned`` takes Aᵀ for A. On the CPU some columns at a time go through all steps, in the cache.
        """
        if not steps:
            return x if rows is None else x[rows]
        if x.device.type == "cpu":
            return _Diffusion.apply(x, self, teleport, steps, turned, rows)
        z = x
        for _ in range(steps):
            z = torch.add(teleport * x, self.t_matmul(z) if turned else self @ z, alpha=1 - teleport)
        return z if rows is None else z[rows]

    def to(self, device: torch.device | str) -> Operator:
        """The operator on another device."""
        turned = None if self.symmetric or self._turned is None else self._turned.to(device)
        return Operator(self.matrix.to(device), turned, self.symmetric)


class WeighedOperator(Operator):
    """A ∘ W (n × m): the operator A with a weight at each stored entry. Products are differentiable in the weights too.

    Of a symmetric operator the weights must be symmetric.
    """

    def __init__(self, operator: Operator, weight: Tensor) -> None:
        super().__init__(operator.matrix, symmetric=operator.symmetric, places=operator._places)
        self.weight = weight

    def __matmul__(self, z: Tensor) -> Tensor:
        """(A ∘ W) z (n × k)."""
        return _Weighed.apply(z, self.weight, self)

    def rows(self, index: Tensor) -> Operator:
        """The operator of some rows only, with their weights."""
        crow, col = self._places.crow, self._places.col
        numbers = torch.arange(col.numel(), dtype=torch.float64, device=col.device)
        taken = take_rows(csr(crow, col, numbers, self.shape), index).values().long()
        return WeighedOperator(super().rows(index), self.weight[taken])


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, operator: Operator, turned: bool) -> Tensor:
        ctx.operator, ctx.turned = operator, turned
        return operator.product(z, turned)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return ctx.operator.product(grads[0], not ctx.turned), None, None


class _Weighed(torch.autograd.Function):
    """The gradient of an entry's weight is the entry times what flows along it, gᵢ·z_j, some entries at a time."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, weight: Tensor, operator: Operator) -> Tensor:
        ctx.save_for_backward(z, weight)
        ctx.operator = operator
        return operator.with_values(operator.values * weight).product(z, False)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        z, weight = ctx.saved_tensors
        operator: Operator = ctx.operator
        into_z = into_weight = None
        if ctx.needs_input_grad[0]:
            into_z = operator.with_values(operator.values * weight).product(grads[0], True)
        if ctx.needs_input_grad[1]:
            crow, col = operator.matrix.crow_indices(), operator.matrix.col_indices()
            row = torch.repeat_interleave(torch.arange(len(crow) - 1, device=col.device), crow.diff())
            into_weight = torch.empty_like(weight)
            for start in range(0, len(col), ENTRIES):
                some = slice(start, start + ENTRIES)
                torch.linalg.vecdot(grads[0][row[some]], z[col[some]], out=into_weight[some])
            into_weight *= operator.values
        return into_z, into_weight, None


class _Diffusion(torch.autograd.Function):
    """Rows of P x, with P a polynomial of A; the gradient is Pᵀ of what came in at those rows."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, operator: Operator, teleport: float, steps: int, turned: bool, rows: Tensor | None
    ) -> Tensor:
        ctx.given = operator, teleport, steps, turned, rows
        matrix = (operator.known_turned if turned else operator.known) * (1 - teleport)
        if rows is None:
            return _by_columns(x, x.shape[0], lambda part: _steps(matrix, part, teleport * part, steps))
        at = rows.numpy()
        last = matrix[at]

        def some(part: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            own = teleport * part
            z = last @ _steps(matrix, part, own, steps - 1)
            z += own[at]
            return z

        return _by_columns(x, len(at), some)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        operator, teleport, steps, turned, rows = ctx.given
        n = operator.shape[0]
        matrix = (operator.known if turned else operator.known_turned) * (1 - teleport)
        nothing = (None,) * 5
        if rows is None:
            return _by_columns(grads[0], n, lambda part: _steps(matrix, part, teleport * part, steps)), *nothing
        at = rows.numpy()
        # The first step back starts from the rows alone: Aᵀ of the others' zeros is not computed.
        first = ((operator.known_turned if turned else operator.known) * (1 - teleport))[at].T
        place = scipy.sparse.csc_matrix(
            (np.full(len(at), teleport, dtype=matrix.dtype), at, np.arange(len(at) + 1)), shape=(n, len(at))
        )

        def spread(part: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            own = place @ part
            z = first @ part
            z += own
            return _steps(matrix, z, own, steps - 1)

        return _by_columns(grads[0], n, spread), *nothing


def _steps(matrix: Any, z: np.ndarray[Any, Any], own: np.ndarray[Any, Any], steps: int) -> np.ndarray[Any, Any]:
    for _ in range(steps):
        z = matrix @ z
        z += own
    return z


def _by_columns(x: Tensor, rows: int, function: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> Tensor:
    """The function of the columns of x, which keeps them apart: some at a time, shared among the threads."""
    n, width = x.shape
    values = x.detach().numpy()
    out = torch.empty(rows, width, dtype=x.dtype)
    filled = out.numpy()
    fit = BLOCK_BYTES // max(n * x.element_size(), 1)
    size = max(fit // BLOCK_COLUMNS, 1) * BLOCK_COLUMNS

    def one(start: int) -> None:
        filled[:, start : start + size] = function(np.ascontiguousarray(values[:, start : start + size]))

    starts = range(0, width, size)
    threads = min(torch.get_num_threads(), len(starts))
    if threads <= 1:
        for start in starts:
            one(start)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(one, starts))
    return out


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
