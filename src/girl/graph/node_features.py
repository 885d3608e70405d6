r"""Node features as a linear map: dense, or sparse with terms of rank one that keep centred or masked rows sparse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor

from girl.kernel.sparse import SparseMatrix, csr, to_scipy

Normalization = Literal["none", "l2", "sized", "sum", "zscore"]
NORMALIZATIONS = get_args(Normalization)

#: Columns that ``"sized"`` adds: each stands for a size of the row, in steps of √2.
SIZES = 32

#: Below this a row's length or standard deviation counts as zero.
_TINY = 1e-12


class NodeFeatures:
    r"""X (n × d): a dense tensor, or :math:`S + c\,1^\top + m\,t^\top` with S sparse.

    A network's first layer needs X only in products XW. In the second form a sparse X is never written out: the
    ``offset`` c (n × 1) standardises its rows, and the mask m (n × 1, zeros and ones) puts the token t (d) in place of
    masked rows.
    """

    def __init__(
        self,
        dense: Tensor | None = None,
        sparse: SparseMatrix | None = None,
        offset: Tensor | None = None,
        token: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        assert (dense is None) != (sparse is None)
        self._dense, self.sparse, self.offset, self._token = dense, sparse, offset, token
        values = dense if sparse is None else sparse
        assert values is not None
        self.shape: tuple[int, int] = (values.shape[0], values.shape[1])

    @classmethod
    def from_tensor(cls, x: Tensor, normalization: Normalization = "none") -> NodeFeatures:
        r"""From a dense or CSR tensor, with normalised rows.

        ``"l2"``: rows of length :math:`\sqrt d`, so that an entry is about 1 in size whatever d is; ``"sized"``: the
        same, with the size of the row, which is lost by it, in one of :data:`SIZES` further columns; ``"sum"``: rows
        whose absolute values sum to 1; ``"zscore"``: rows of mean 0 and standard deviation 1, as in the released code.
        Rows that are zero or constant stay zero.
        """
        if x.layout == torch.strided:
            return cls(dense=_normalize_dense(x.to(torch.float32), normalization))
        x = x.to_sparse_csr()
        if normalization == "sized":
            return cls.from_tensor(_add_sizes(x), "l2")
        values, row = x.values().to(torch.float32), _row_of_entries(x)
        n, d = x.shape
        zeros, offset = torch.zeros(n, device=x.device), None
        squares = zeros.index_add(0, row, values.square())
        if normalization == "l2":
            values = values * (d**0.5 / squares.sqrt().clamp(min=_TINY))[row]
        elif normalization == "sum":
            values = values / zeros.index_add(0, row, values.abs()).clamp(min=_TINY)[row]
        elif normalization == "zscore":
            mean = zeros.index_add(0, row, values) / d
            std = (squares / d - mean.square()).clamp(min=0).sqrt()
            scale = torch.where(std > _TINY, 1 / std.clamp(min=_TINY), 0.0)
            values, offset = values * scale[row], (-mean * scale).unsqueeze(1)
        return cls(sparse=SparseMatrix(csr(x.crow_indices(), x.col_indices(), values, (n, d))), offset=offset)

    @property
    def _values(self) -> Tensor:
        """The dense tensor, or the entries of S."""
        return self._dense if self._dense is not None else self._sparse.values

    @property
    def _sparse(self) -> SparseMatrix:
        assert self.sparse is not None
        return self.sparse

    @property
    def device(self) -> torch.device:
        return self._values.device

    @property
    def tensors(self) -> list[Tensor]:
        """The tensors that the features are made of, for a fingerprint."""
        if self._dense is not None:
            return [self._dense]
        x = self._sparse.tensor
        tensors = [x.crow_indices(), x.col_indices(), x.values()]
        return tensors if self.offset is None else [*tensors, self.offset]

    @property
    def is_ids(self) -> bool:
        """Whether no column is shared by two nodes: such features name nodes, and say nothing about them."""
        return self.sparse is not None and bool((self.sparse.tensor.col_indices().bincount() <= 1).all())

    def __matmul__(self, weight: Tensor) -> Tensor:
        """X W (n × k), differentiable in W."""
        if self._dense is not None:
            return self._dense @ weight
        product = self._sparse @ weight
        if self.offset is not None:
            product = torch.addcmul(product, self.offset, weight.sum(0, keepdim=True))
        if self._token is not None:
            mask, token = self._token
            product = torch.addcmul(product, mask, token.unsqueeze(0) @ weight)
        return product

    def t_matmul(self, z: Tensor) -> Tensor:
        """XᵀZ (d × k)."""
        if self._dense is not None:
            return self._dense.T @ z
        product = self._sparse.t_matmul(z)
        if self.offset is not None:
            product = product + self.offset.T @ z
        return product if self._token is None else product + self._token[1].unsqueeze(1) * (self._token[0].T @ z)

    def rows(self, nodes: Tensor) -> NodeFeatures:
        """The features of ``nodes``."""
        return self._map(lambda x: x[nodes], lambda x: x.rows(nodes))

    def dense(self, nodes: Tensor | None = None) -> Tensor:
        """The features of ``nodes`` (or all) as a dense tensor."""
        if nodes is not None:
            return self.rows(nodes).dense() if self._dense is None else self._dense[nodes]
        if self._dense is not None:
            return self._dense
        out = self._sparse.tensor.to_dense()
        if self.offset is not None:
            out += self.offset
        return out if self._token is None else out + self._token[0] * self._token[1]

    def aggregate(self, matrix: SparseMatrix) -> Tensor:
        """A X as a dense tensor, for a sparse A with few rows, such as means over neighbours. X stays sparse."""
        if self._dense is not None:
            return matrix @ self._dense
        out = matrix.matmul_sparse(self._sparse)
        if self.offset is not None:
            out = out + matrix @ self.offset
        return out if self._token is None else out + (matrix @ self._token[0]) * self._token[1]

    def dropout(self, rate: float, generator: torch.Generator | None = None) -> NodeFeatures:
        """Entries set to zero with probability ``rate``, the others scaled up so that the mean stays.

        Of sparse features only S is dropped, not the terms of rank one: a dropped word looks like one that is absent.
        """
        if not rate:
            return self
        keep = torch.rand(self._values.shape, generator=generator, device=self.device) >= rate
        return self._with_values(self._values * keep / (1 - rate))

    def mask_columns(self, rate: float, generator: torch.Generator | None = None) -> NodeFeatures:
        """Columns set to zero for all nodes, each with probability ``rate``. Of sparse features, only S is."""
        if not rate:
            return self
        return self.select_columns(torch.rand(self.shape[1], generator=generator, device=self.device) >= rate)

    def select_columns(self, keep: Tensor) -> NodeFeatures:
        """The columns at which ``keep`` (d) is true; the others are set to zero. Of sparse features, only S is."""
        mask = keep.to(device=self.device, dtype=torch.float32)
        return self._with_values(
            self._values * (mask if self.sparse is None else mask[self.sparse.tensor.col_indices()])
        )

    def columns(self, index: Tensor) -> Tensor:
        """The columns ``index`` as a dense tensor (n × k), of features without masked rows."""
        if self._dense is not None:
            return self._dense[:, index]
        assert self._token is None
        out = torch.from_numpy(to_scipy(self._sparse.tensor.cpu())[:, index.cpu().numpy()].toarray()).to(self.device)
        return out if self.offset is None else out + self.offset

    def row_sizes(self) -> Tensor:
        """The sum of the absolute values in each row (n); of sparse features, only of S."""
        if self._dense is not None:
            return self._dense.abs().sum(1)
        zeros = torch.zeros(self.shape[0], device=self.device)
        return zeros.index_add(0, _row_of_entries(self._sparse.tensor), self._sparse.values.abs())

    @property
    def is_nonnegative(self) -> bool:
        """Whether no entry is below zero, as in counts and bags of words."""
        return self.offset is None and (not self._values.numel() or float(self._values.min()) >= 0)

    def normalized(self, normalization: Normalization) -> NodeFeatures:
        """The same features with normalised rows, as :meth:`from_tensor` does it."""
        assert self.offset is None
        assert self._token is None
        return NodeFeatures.from_tensor(self._values if self.sparse is None else self._sparse.tensor, normalization)

    def _with_values(self, values: Tensor) -> NodeFeatures:
        """The same features with another dense tensor, or with other entries of S."""
        if self.sparse is None:
            return NodeFeatures(dense=values)
        return NodeFeatures(sparse=self.sparse.with_values(values), offset=self.offset, token=self._token)

    def mask_rows(self, nodes: Tensor, token: Tensor | None = None) -> NodeFeatures:
        """The rows of ``nodes`` set to ``token`` (d), through which gradients flow, or to zero."""
        assert self._token is None, "rows are masked already"
        mask = torch.zeros(self.shape[0], 1, device=self.device)
        mask[nodes] = 1
        if self._dense is not None:
            return NodeFeatures(dense=torch.where(mask > 0, 0.0 if token is None else token, self._dense))
        row = _row_of_entries(self._sparse.tensor)
        return NodeFeatures(
            sparse=self._sparse.with_values(self._sparse.values * (1 - mask[row, 0])),
            offset=None if self.offset is None else self.offset * (1 - mask),
            token=None if token is None else (mask, token),
        )

    def to(self, device: torch.device | str) -> NodeFeatures:
        moved = self._map(lambda x: x.to(device), lambda x: x.to(device))
        if moved._token is not None:
            moved._token = moved._token[0], moved._token[1].to(device)
        return moved

    def _map(self, dense: Callable[[Tensor], Tensor], sparse: Callable[[SparseMatrix], SparseMatrix]) -> NodeFeatures:
        """The features with a function applied to everything that has a row for each node."""
        if self._dense is not None:
            return NodeFeatures(dense=dense(self._dense))
        offset = None if self.offset is None else dense(self.offset)
        token = None if self._token is None else (dense(self._token[0]), self._token[1])
        return NodeFeatures(sparse=sparse(self._sparse), offset=offset, token=token)


def num_extra_columns(normalization: Normalization) -> int:
    """How many columns a normalisation adds to the features."""
    return SIZES if normalization == "sized" else 0


def _row_of_entries(x: Tensor) -> Tensor:
    """The row of each stored entry of a CSR tensor."""
    return torch.repeat_interleave(torch.arange(x.shape[0], device=x.device), x.crow_indices().diff())


def _size_column(sizes: Tensor) -> Tensor:
    """Which of the further columns stands for a size: steps of √2 from 2⁻⁸ to 2⁸, the first and the last open-ended."""
    steps = (2 * sizes.clamp(min=_TINY).log2()).round() + SIZES // 2
    return steps.clamp(0, SIZES - 1).long()


def _add_sizes(x: Tensor) -> Tensor:
    """A CSR tensor with one more entry in each row: in the column of the row's size, with the row's length."""
    n, d = x.shape
    values, crow = x.values().to(torch.float32), x.crow_indices()
    nodes, row = torch.arange(n + 1, device=x.device), _row_of_entries(x)
    sums = torch.zeros(n, device=x.device)
    column = d + _size_column(sums.index_add(0, row, values.abs()))
    length = sums.index_add(0, row, values.square()).sqrt()
    # The entries of row i move by i, since each row before it has one entry more; the new entry of a row is its last.
    wide_values, wide_columns = values.new_empty(len(values) + n), crow.new_empty(len(values) + n)
    old, new = torch.arange(len(values), device=x.device) + row, crow[1:] + nodes[:-1]
    wide_values[old], wide_values[new] = values, length
    wide_columns[old], wide_columns[new] = x.col_indices(), column.to(crow.dtype)
    return csr(crow + nodes, wide_columns, wide_values, (n, d + SIZES))


def _normalize_dense(x: Tensor, normalization: Normalization) -> Tensor:
    if normalization == "sized":
        size = torch.nn.functional.one_hot(_size_column(x.abs().sum(1)), SIZES) * x.norm(dim=1, keepdim=True)
        return _normalize_dense(torch.cat([x, size], 1), "l2")
    if normalization == "l2":
        return x * (x.shape[1] ** 0.5 / x.norm(dim=1, keepdim=True).clamp(min=_TINY))
    if normalization == "sum":
        return x / x.abs().sum(1, keepdim=True).clamp(min=_TINY)
    if normalization == "zscore":
        x = x - x.mean(1, keepdim=True)
        std = x.square().mean(1, keepdim=True).sqrt()
        return torch.where(std > 1e-6, x / std.clamp(min=_TINY), 0.0)
    return x
