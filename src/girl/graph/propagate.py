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
        return _Propagate.apply(x, matrix, teleport, steps, transpose, rows, remainder)
    z = x if remainder else teleport * x
    for _ in range(steps):
        if transpose:
            assert isinstance(matrix, SparseMatrix)
            product = matrix.t_matmul(z)
        else:
            product = matrix @ z
        z = torch.add(teleport * x, product, alpha=1 - teleport)
    return z if rows is None else z[rows]


class _Propagate(torch.autograd.Function):
    """Rows of P x on the CPU, with P a polynomial of A. Blocks of columns go through all steps, in the cache."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        matrix: SparseMatrix,
        teleport: float,
        steps: int,
        transpose: bool,
        rows: Tensor | None,
        remainder: bool,
    ) -> Tensor:
        ctx.arguments = matrix, teleport, steps, transpose, rows, remainder
        scaled = (matrix.scipy_transpose if transpose else matrix.as_scipy) * (1 - teleport)
        index = None if rows is None else rows.numpy()
        last = None if index is None else scaled[index]  # the last step is computed for the wanted rows only

        def forward(part: Array) -> Array:
            restart = teleport * part
            z = part if remainder else restart
            if last is None:
                return _iterate(scaled, z, restart, steps)
            return last @ _iterate(scaled, z, restart, steps - 1) + restart[index]

        return _by_columns(x, x.shape[0] if rows is None else len(rows), forward)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Pᵀ of the gradient, which is zero at the rows that were not asked for."""
        matrix, teleport, steps, transpose, rows, remainder = ctx.arguments
        n, kind = matrix.shape[0], matrix.as_scipy.dtype
        scaled, back = (
            m * (1 - teleport) for m in (matrix.as_scipy, matrix.scipy_transpose)[:: -1 if transpose else 1]
        )
        first, scatter = scaled.T, None
        if rows is not None:  # the first step multiplies the wanted rows only
            index, count = rows.numpy(), len(rows)
            first = scaled[index].T
            scatter = scipy.sparse.csc_matrix((np.ones(count, kind), index, np.arange(count + 1)), shape=(n, count))

        def backward(part: Array) -> Array:
            restart = teleport * part
            z = part if remainder else restart
            if scatter is None:
                return _iterate(back, z, restart, steps)
            restart = scatter @ restart
            return _iterate(back, first @ z + restart, restart, steps - 1)

        return _by_columns(grads[0], n, backward), *(None,) * 6


def _iterate(scaled: Any, z: Array, restart: Array, steps: int) -> Array:
    """``steps`` of z ← (1 - α) A z + α x, with ``scaled`` = (1 - α) A and ``restart`` = α x."""
    for _ in range(steps):
        z = scaled @ z
        z += restart
    return z


def _by_columns(x: Tensor, num_rows: int, function: Callable[[Array], Array]) -> Tensor:
    """A function that treats each column of x alone, applied to blocks of columns by all threads."""
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
