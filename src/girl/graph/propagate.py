r"""Personalised PageRank of node signals, by power iteration.

.. math:: z \leftarrow (1-\alpha)\,A z + \alpha x, \qquad z \to \alpha\,(I-(1-\alpha)A)^{-1}x
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from girl.kernel.sparse import LinearMap, SparseMatrix

#: Bytes of a block of columns that goes through all steps at once: a few such blocks fit into the CPU's cache.
BLOCK_BYTES = 1 << 20
#: Columns that a block has at least: one line of the cache.
BLOCK_COLUMNS = 16

Array = np.ndarray[Any, Any]
Function = Callable[[Array], Array]


def propagate(
    matrix: LinearMap,
    x: Tensor,
    teleport: float,
    steps: int,
    *,
    transpose: bool = False,
    rows: Tensor | None = None,
    remainder: bool = True,
) -> Tensor:
    r"""``steps`` of the iteration above on the columns of x (n × k), differentiable in x.

    .. math:: z_K = \sum_{k<K}\alpha(1-\alpha)^kA^kx + (1-\alpha)^KA^Kx

    Args:
        matrix: A (n × n).
        x: the signals.
        teleport: α.
        steps: K.
        transpose: use Aᵀ in place of A; A must then be a :class:`~girl.kernel.sparse.SparseMatrix`.
        rows: the rows of the result that are wanted; all if not given.
        remainder: if False the last term has the factor α as well: the series is cut off after :math:`A^K`.
    """
    if steps and x.device.type == "cpu" and isinstance(matrix, SparseMatrix):
        return _propagate_on_cpu(matrix, x, teleport, steps, transpose, rows, remainder)
    z = x if remainder else teleport * x
    for _ in range(steps):
        if transpose:
            assert isinstance(matrix, SparseMatrix)
            product = matrix.t_matmul(z)
        else:
            product = matrix @ z
        z = torch.add(teleport * x, product, alpha=1 - teleport)
    return z if rows is None else z[rows]


def _propagate_on_cpu(
    matrix: SparseMatrix, x: Tensor, teleport: float, steps: int, transpose: bool, rows: Tensor | None, remainder: bool
) -> Tensor:
    """Rows of P x, with P a polynomial of A; the gradient is Pᵀ of that of the rows."""
    forms = (matrix.scipy_transpose, matrix.as_scipy) if transpose else (matrix.as_scipy, matrix.scipy_transpose)
    a, a_transpose = (form * (1 - teleport) for form in forms)
    index = None if rows is None else rows.numpy()
    a_rows = None if index is None else a[index]  # the last step forward and the first step backward need no others

    def forward(x: Array) -> Array:
        restart = teleport * x
        z = x if remainder else restart
        if a_rows is None:
            return _iterate(a, z, restart, steps)
        return a_rows @ _iterate(a, z, restart, steps - 1) + restart[index]

    def backward(grad: Array) -> Array:
        restart = teleport * grad
        z = grad if remainder else restart
        if a_rows is None:
            return _iterate(a_transpose, z, restart, steps)
        count = len(grad)
        ones = np.ones(count, grad.dtype)
        restart = scipy.sparse.csc_matrix((ones, index, np.arange(count + 1)), shape=(len(x), count)) @ restart
        return _iterate(a_transpose, a_rows.T @ z + restart, restart, steps - 1)

    return _ByColumns.apply(x, forward, backward, len(x) if rows is None else len(rows))


def _iterate(scaled: Any, z: Array, restart: Array, steps: int) -> Array:
    """``steps`` of z ← (1 - α) A z + α x, with ``scaled`` = (1 - α) A and ``restart`` = α x."""
    for _ in range(steps):
        z = scaled @ z
        z += restart
    return z


class _ByColumns(torch.autograd.Function):
    """A linear function that treats each column alone, and its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, forward: Function, backward: Function, num_rows: int) -> Tensor:
        ctx.arguments = backward, len(x)
        return _by_columns(x, forward, num_rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return _by_columns(grads[0], *ctx.arguments), None, None, None


def _by_columns(x: Tensor, function: Function, num_rows: int) -> Tensor:
    """The function of blocks of columns, which go through all steps in the CPU's cache, shared by all threads."""
    n, width = x.shape
    values = x.detach().numpy()
    out = torch.empty(num_rows, width, dtype=x.dtype)
    result = out.numpy()
    size = max(BLOCK_BYTES // max(n * x.element_size(), 1) // BLOCK_COLUMNS, 1) * BLOCK_COLUMNS

    def apply(start: int) -> None:
        result[:, start : start + size] = function(np.ascontiguousarray(values[:, start : start + size]))

    starts = range(0, width, size)
    with ThreadPoolExecutor(max(min(torch.get_num_threads(), len(starts)), 1)) as pool:
        list(pool.map(apply, starts))
    return out
