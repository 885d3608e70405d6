"""The targets of the low-rank loss: their products with the features, and sums over rows of their residuals."""

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from girl.kernel import residuals, sparse
from girl.kernel.chunks import ChunkedRows
from girl.kernel.distributed import Communicator
from girl.kernel.precision import wide_dtype


class DenseTarget:
    """A target (n x m) whose residuals are formed one chunk at a time, so no digits are lost to cancellation.

    A CSR target is made dense one chunk at a time as well: for p other than 2 there is no shorter way.
    """

    num_sums = 1  # the number of tensors that `residual_sums` returns

    def __init__(self, y: Tensor, p: float, chunk_size: int, dtype: torch.dtype, communicator: Communicator | None):
        self.p, self.dtype, is_sparse = p, dtype, y.layout == torch.sparse_csr
        #: The chunks that may need a gradient; None for CSR, whose chunks are constants and kept here.
        self.rows = None if is_sparse else ChunkedRows(y, chunk_size)
        self.chunks = sparse.chunks(y, chunk_size) if is_sparse else []
        self.scale: Tensor | None = None
        if p != 2:
            largest = sparse.largest_entries(y) if is_sparse else residuals.largest_entries(y)
            if communicator is not None:
                (largest,) = communicator.all_reduce(largest, op=dist.ReduceOp.MAX)
            self.scale = residuals.column_scale(largest).to(dtype)
        #: Sums over rows of the p-th powers of y/scale, m.
        self.sums = torch.zeros(y.shape[1], dtype=wide_dtype(y), device=y.device)
        if self.rows is not None:
            for index in range(self.rows.num_chunks):
                self.sums += residuals.power_sums(self._scaled(index, self.rows.chunk(index)), p)
        else:
            scaled = y.values().to(dtype) / (1 if self.scale is None else self.scale[y.col_indices()])
            self.sums.index_add_(0, y.col_indices(), scaled.abs().pow(p).to(wide_dtype(y)))

    def _scaled(self, index: int, chunk: Tensor | None) -> Tensor:
        chunk = (self.chunks[index].to_dense() if chunk is None else chunk).to(self.dtype)
        return chunk if self.scale is None else chunk / self.scale

    def project(self, index: int, chunk: Tensor | None, features: Tensor) -> Tensor:
        """ΦᵀY (r x m) of chunk ``index``."""
        return features.T @ self._scaled(index, chunk)

    def residual_sums(
        self, index: int, chunk: Tensor | None, features: Tensor, fit: Tensor, factors: Tensor | None
    ) -> tuple[Tensor, ...]:
        """The sums over the rows of chunk ``index`` that :meth:`rho` needs; ``factors`` are those of leave-one-out."""
        sums = residuals.residual_sums(self._scaled(index, chunk), features, fit, factors, self.p)
        return (sums.to(wide_dtype(fit)),)

    def rho(self, sums: Sequence[Tensor], fit: Tensor, weighted_gram: Tensor | None, rows: int, root: bool) -> Tensor:
        """ρ̂ from the sums over all rows."""
        return residuals.mean_norm(sums[0], self.sums, rows, self.p, self.dtype, self.scale, root)


class MomentsTarget:
    r"""A CSR target for p = 2: only sums over rows, and no dense matrix of its size.

    With weights :math:`w_i = 1/(1-H_{ii})^2` for leave-one-out, or 1 in-sample,

    .. math:: \sum_i w_i R_{ic}^2 = y_c^\top W y_c - 2\,b_c^\top(\Phi^\top W y_c) + b_c^\top(\Phi^\top W \Phi)\,b_c .
    """

    rows = None
    num_sums = 2

    def __init__(self, y: Tensor, chunk_size: int, dtype: torch.dtype) -> None:
        self.dtype = dtype
        y = sparse.csr(y.crow_indices(), y.col_indices(), y.values().detach().to(dtype), (y.shape[0], y.shape[1]))
        self.chunks = [sparse.SparseMatrix(chunk) for chunk in sparse.chunks(y, chunk_size)]
        self.sums = torch.zeros(y.shape[1], dtype=wide_dtype(y), device=y.device)
        self.sums.index_add_(0, y.col_indices(), y.values().to(wide_dtype(y)).square())

    def project(self, index: int, chunk: Tensor | None, features: Tensor) -> Tensor:
        """ΦᵀY (r x m) of chunk ``index``."""
        return self.chunks[index].t_matmul(features).T

    def residual_sums(
        self, index: int, chunk: Tensor | None, features: Tensor, fit: Tensor, factors: Tensor | None
    ) -> tuple[Tensor, ...]:
        """yᵀWy (m) and ΦᵀWY (r x m) of chunk ``index``."""
        weight = torch.ones_like(features[:, 0]) if factors is None else factors.square()
        y = self.chunks[index]
        squares = y.with_values(y.values.square()).t_matmul(weight.unsqueeze(1)).squeeze(1)
        return squares.to(wide_dtype(fit)), y.t_matmul(features * weight.unsqueeze(1)).T

    def rho(self, sums: Sequence[Tensor], fit: Tensor, weighted_gram: Tensor | None, rows: int, root: bool) -> Tensor:
        """ρ̂ from the sums over all rows and ΦᵀWΦ (r x r)."""
        squares, cross = sums
        assert weighted_gram is not None
        inner = (fit * (weighted_gram.to(fit.dtype) @ fit - 2 * cross)).sum(0, dtype=wide_dtype(fit))
        # The terms cancel. A difference below the rounding of the largest term is noise, however small the target is.
        rounding = 4 * torch.finfo(self.dtype).eps * squares.detach()
        residual = squares + inner
        residual = residual.where(residual > rounding, 0.0)
        return residuals.mean_norm(residual, self.sums, rows, 2.0, self.dtype, None, root)
