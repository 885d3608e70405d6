"""What a low-rank loss needs of a target: its products with the features, and its residuals summed over rows."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from girl.kernel import sparse
from girl.kernel.distributed import Ranks
from girl.kernel.norm import largest_entries, mean_norm, power_sums
from girl.kernel.precision import wide
from girl.kernel.products import residual_sums
from girl.kernel.rows import Rows


class DenseTarget:
    """A dense target: its residuals are formed, a chunk at a time, which loses no digits."""

    sums = 1  # how many sums `account` gives

    def __init__(self, y: Tensor, p: float, chunk: int, dtype: torch.dtype, ranks: Ranks | None = None) -> None:
        self.rows: Rows | None = Rows(y, chunk)
        self.p, self.dtype = p, dtype
        self.scale = None if p == 2 else _scale(largest_entries(y), ranks).to(dtype)
        self.size = torch.zeros(y.shape[1], dtype=wide(y), device=y.device)
        for index in range(self.rows.chunks):
            self.size += power_sums(self._read(index, self.rows.piece(index)), p)

    def _read(self, index: int, part: Tensor | None) -> Tensor:
        assert part is not None
        return part.to(self.dtype) if self.scale is None else part.to(self.dtype) / self.scale

    def project(self, index: int, part: Tensor | None, features: Tensor) -> Tensor:
        """ΦᵀY (r x m) of chunk ``index``, given as ``part``."""
        return features.T @ self._read(index, part)

    def account(
        self, index: int, part: Tensor | None, features: Tensor, fit: Tensor, inflate: Tensor | None
    ) -> tuple[Tensor, ...]:
        """The sums over the rows of a chunk that :meth:`rho` needs."""
        return (residual_sums(self._read(index, part), features, fit, inflate, self.p).to(wide(fit)),)

    def rho(self, sums: Sequence[Tensor], fit: Tensor, weighted_gram: Tensor | None, rows: int, root: bool) -> Tensor:
        """ρ̂ from the sums over all rows."""
        return mean_norm(sums[0], self.size, rows, self.p, self.dtype, self.scale, root)


class SparseTarget(DenseTarget):
    """A CSR target where p is not 2: the residuals are dense, so each chunk is made dense when its turn comes."""

    def __init__(self, y: Tensor, p: float, chunk: int, dtype: torch.dtype, ranks: Ranks | None = None) -> None:
        self.rows = None
        self.p, self.dtype = p, dtype
        self.chunks = sparse.chunks(y, chunk)
        self.scale = _scale(sparse.largest_entries(y), ranks).to(dtype)
        self.size = torch.zeros(y.shape[1], dtype=wide(y), device=y.device)
        scaled = y.values().to(dtype) / self.scale[y.col_indices()]
        self.size.index_add_(0, y.col_indices(), scaled.abs().pow(p).to(wide(y)))

    def _read(self, index: int, part: Tensor | None) -> Tensor:
        return super()._read(index, self.chunks[index].to_dense())


class MomentsTarget:
    r"""A CSR target with p = 2: only sums over rows, nothing dense of its size.

    With weights :math:`w_i = 1/(1-H_{ii})^2`, or 1,

    .. math:: \sum_i w_i R_{ic}^2 = y_c^\top W y_c - 2\,b_c^\top(\Phi^\top W y_c) + b_c^\top(\Phi^\top W \Phi)\,b_c .
    """

    rows = None
    sums = 2

    def __init__(self, y: Tensor, chunk: int, dtype: torch.dtype) -> None:
        self.dtype = dtype
        y = sparse.csr(y.crow_indices(), y.col_indices(), y.values().detach().to(dtype), (y.shape[0], y.shape[1]))
        self.chunks = [sparse.SparseMatrix(piece) for piece in sparse.chunks(y, chunk)]
        self.size = torch.zeros(y.shape[1], dtype=wide(y), device=y.device)
        self.size.index_add_(0, y.col_indices(), y.values().to(wide(y)).square())

    def project(self, index: int, part: Tensor | None, features: Tensor) -> Tensor:
        """ΦᵀY (r x m) of chunk ``index``."""
        return self.chunks[index].t_matmul(features).T

    def account(
        self, index: int, part: Tensor | None, features: Tensor, fit: Tensor, inflate: Tensor | None
    ) -> tuple[Tensor, ...]:
        """yᵀWy (m) and ΦᵀWY (r x m) of a chunk."""
        weight = torch.ones_like(features[:, 0]) if inflate is None else inflate.square()
        y = self.chunks[index]
        squares = y.with_values(y.values.square()).t_matmul(weight.unsqueeze(1)).squeeze(1)
        return squares.to(wide(fit)), y.t_matmul(features * weight.unsqueeze(1)).T

    def rho(self, sums: Sequence[Tensor], fit: Tensor, weighted_gram: Tensor | None, rows: int, root: bool) -> Tensor:
        """ρ̂ from the sums over all rows and ΦᵀWΦ (r x r)."""
        squares, cross = sums
        assert weighted_gram is not None
        inner = (fit * (weighted_gram.to(fit.dtype) @ fit - 2 * cross)).sum(0, dtype=wide(fit))
        # The terms cancel: what is left below the rounding of the largest is noise, whatever the target's own size.
        rounding = 4 * torch.finfo(self.dtype).eps * squares.detach()
        left = squares + inner
        return mean_norm(left.where(left > rounding, 0.0), self.size, rows, 2.0, self.dtype, None, root)


Target = DenseTarget | MomentsTarget


def hold(y: Tensor, p: float, chunk: int, dtype: torch.dtype, ranks: Ranks | None = None) -> Target:
    """The way to hold ``y`` (n x m, dense or CSR) for the norm ``p``; with ``ranks``, one process's part of it."""
    if y.layout != torch.sparse_csr:
        return DenseTarget(y, p, chunk, dtype, ranks)
    return MomentsTarget(y, chunk, dtype) if p == 2 else SparseTarget(y, p, chunk, dtype, ranks)


def _scale(largest: Tensor, ranks: Ranks | None) -> Tensor:
    """The columns' scales from their largest entries here."""
    if ranks is not None:
        (largest,) = ranks.constants(largest, largest=True)
    return largest.where(largest > 0, 1.0)
