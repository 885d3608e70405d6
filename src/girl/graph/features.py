r"""Node features as a linear map: dense, or sparse with terms of rank one that keep centred or hidden rows sparse."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from girl.graph.sparse_matrix import Operator, take_rows
from girl.kernel.sparse import csr

Normalise = Literal["none", "l2", "sized", "sum", "zscore"]
NORMALISE = get_args(Normalise)

#: Steps of √2 by which the size of a row is told, each by a column: what ``"sized"`` has beside the others.
SIZES = 32


class Features:
    r"""X (n × d): a dense tensor, or :math:`S + c\,1^\top` with S sparse and a number :math:`c_i` for each row.

    A network's first layer needs X only in products XW. With the second form, standardising each row of a sparse X
    (mean 0, spread 1) costs nothing: X is never written out.
    """

    def __init__(
        self,
        dense: Tensor | None = None,
        sparse: Operator | None = None,
        offset: Tensor | None = None,
        token: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        assert (dense is None) != (sparse is None)
        self._dense = dense
        self.sparse = sparse
        self.offset = offset  # n × 1
        self._token = token  # where (n × 1), and what (d): what stands in the place of hidden rows of a sparse X

    @classmethod
    def of(cls, x: Tensor, normalise: Normalise = "none") -> Features:
        r"""From a dense or CSR tensor, its rows normalised.

        ``"l2"``: rows of length :math:`\sqrt d`, so that an entry is about 1 in size whatever d is; ``"sized"``: the
        same, with what is lost by it, the size of the row, as one of :data:`SIZES` further columns; ``"sum"``: rows
        whose sizes sum to 1, as many programs of others have them; ``"zscore"``: rows of mean 0 and spread 1 (as the
        released code does); rows that are zero or constant stay zero.
        """
        if x.layout == torch.strided:
            return cls(dense=_normalise_dense(x.to(torch.float32), normalise))
        x = x.to_sparse_csr()
        if normalise == "sized":
            return cls.of(_sized(x), "l2")
        values = x.values().to(torch.float32)
        n, d = x.shape
        row = torch.repeat_interleave(torch.arange(n, device=x.device), x.crow_indices().diff())
        squares = torch.zeros(n, device=x.device).index_add_(0, row, values.square())
        offset = None
        if normalise == "l2":
            values = values * (d**0.5 / squares.sqrt().clamp(min=_TINY))[row]
        elif normalise == "sum":
            sizes = torch.zeros(n, device=x.device).index_add_(0, row, values.abs())
            values = values / sizes.clamp(min=_TINY)[row]
        elif normalise == "zscore":
            mean = torch.zeros(n, device=x.device).index_add_(0, row, values) / d
            spread = (squares / d - mean.square()).clamp(min=0).sqrt()
            scale = torch.where(spread > _TINY, 1 / spread.clamp(min=_TINY), 0.0)
            values = values * scale[row]
            offset = (-mean * scale).unsqueeze(1)
        return cls(sparse=Operator.of(csr(x.crow_indices(), x.col_indices(), values, (n, d))), offset=offset)

    @property
    def shape(self) -> tuple[int, int]:
        """N and d."""
        if self._dense is not None:
            return self._dense.shape[0], self._dense.shape[1]
        assert self.sparse is not None
        return self.sparse.shape

    @property
    def device(self) -> torch.device:
        """Where the features are."""
        return self._dense.device if self._dense is not None else self._operator.matrix.device

    @property
    def tensors(self) -> list[Tensor]:
        """All that the features are made of."""
        if self._dense is not None:
            return [self._dense]
        matrix = self._operator.matrix
        found = [matrix.crow_indices(), matrix.col_indices(), matrix.values()]
        return found if self.offset is None else [*found, self.offset]

    @property
    def _operator(self) -> Operator:
        assert self.sparse is not None
        return self.sparse

    @property
    def is_ids(self) -> bool:
        """Whether no column is shared by two nodes: such features name nodes, and say nothing about them."""
        if self.sparse is None:
            return False
        return bool((self.sparse.turned.crow_indices().diff() <= 1).all())

    def __matmul__(self, weight: Tensor) -> Tensor:
        """X W (n × k), differentiable in W."""
        if self._dense is not None:
            return self._dense @ weight
        product = self._operator @ weight
        if self.offset is not None:
            product = torch.addcmul(product, self.offset, weight.sum(0, keepdim=True))
        if self._token is not None:
            where, what = self._token
            product = torch.addcmul(product, where, what.unsqueeze(0) @ weight)
        return product

    def t_matmul(self, z: Tensor) -> Tensor:
        """XᵀZ (d × k)."""
        if self._dense is not None:
            return self._dense.T @ z
        product = self._operator.t_matmul(z)
        if self.offset is not None:
            product = product + self.offset.T @ z
        if self._token is not None:
            where, what = self._token
            product = product + what.unsqueeze(1) * (where.T @ z)
        return product

    def rows(self, nodes: Tensor) -> Features:
        """The features of some nodes."""
        if self._dense is not None:
            return Features(dense=self._dense[nodes])
        return Features(
            sparse=self._operator.rows(nodes),
            offset=None if self.offset is None else self.offset[nodes],
            token=None if self._token is None else (self._token[0][nodes], self._token[1]),
        )

    def dense(self, nodes: Tensor | None = None) -> Tensor:
        """The features of some nodes (or all), written out."""
        if self._dense is not None:
            return self._dense if nodes is None else self._dense[nodes]
        matrix = self._operator.matrix if nodes is None else take_rows(self._operator.matrix, nodes)
        out = matrix.to_dense()
        if self.offset is not None:
            out += self.offset if nodes is None else self.offset[nodes]
        if self._token is not None:
            where, what = self._token
            out = out + (where if nodes is None else where[nodes]) * what
        return out

    def averaged(self, operator: Operator) -> Tensor:
        """A X, written out, for an operator A of a few rows: a sparse X stays sparse."""
        if self._dense is not None:
            return operator @ self._dense
        out = operator.times(self._operator)
        return out if self.offset is None else out + operator @ self.offset

    def column_mean(self) -> Tensor:
        """The mean of each column."""
        n, _ = self.shape
        return self.t_matmul(torch.full((n, 1), 1 / n, device=self.device)).squeeze(1)

    def dropout(self, share: float, generator: torch.Generator | None = None) -> Features:
        """Entries set to zero with probability ``share``, the others scaled up so that the mean stays.

        Of sparse features only S is hidden, not the term of rank one: a word that is hidden looks like one that is not
        there.
        """
        if not share:
            return self
        if self._dense is not None:
            keep = torch.rand(self._dense.shape, generator=generator, device=self.device) >= share
            return Features(dense=self._dense * keep / (1 - share))
        values = self._operator.values
        keep = torch.rand(values.shape, generator=generator, device=self.device) >= share
        return Features(sparse=self._operator.with_values(values * keep / (1 - share)), offset=self.offset)

    def hide_columns(self, share: float, generator: torch.Generator | None = None) -> Features:
        """Columns set to zero for all nodes, each with probability ``share``. Of sparse features, only S is."""
        if not share:
            return self
        keep = (torch.rand(self.shape[1], generator=generator, device=self.device) >= share).float()
        if self._dense is not None:
            return Features(dense=self._dense * keep)
        operator = self._operator
        values = operator.values * keep[operator.matrix.col_indices()]
        return Features(sparse=operator.with_values(values), offset=self.offset)

    def hide_rows(self, nodes: Tensor, token: Tensor | None = None) -> Features:
        """The rows of some nodes set to ``token`` (d), through which gradients flow, or to zero."""
        n, _ = self.shape
        where = torch.zeros(n, 1, device=self.device)
        where[nodes] = 1
        if self._dense is not None:
            return Features(dense=torch.where(where > 0, 0.0 if token is None else token, self._dense))
        operator = self._operator
        row = torch.repeat_interleave(torch.arange(n, device=self.device), operator.matrix.crow_indices().diff())
        return Features(
            sparse=operator.with_values(operator.values * (1 - where[row, 0])),
            offset=None if self.offset is None else self.offset * (1 - where),
            token=None if token is None else (where, token),
        )

    def to(self, device: torch.device | str) -> Features:
        """The features on another device."""
        if self._dense is not None:
            return Features(dense=self._dense.to(device))
        return Features(
            sparse=self._operator.to(device),
            offset=None if self.offset is None else self.offset.to(device),
            token=None if self._token is None else (self._token[0].to(device), self._token[1].to(device)),
        )


class WeighedFeatures(Features):
    """Features with a weight for each column (d), through which gradients flow."""

    def __init__(self, features: Features, weight: Tensor) -> None:
        super().__init__(features._dense, features.sparse, features.offset, features._token)
        self.weight = weight

    def __matmul__(self, weight: Tensor) -> Tensor:
        """X diag(w) W (n × k)."""
        return super().__matmul__(self.weight.unsqueeze(1) * weight)


#: Below this a row's length or spread counts as zero.
_TINY = 1e-12


def columns_beside(normalise: Normalise) -> int:
    """How many columns normalised features have beside those that were given."""
    return SIZES if normalise == "sized" else 0


def _size_column(sizes: Tensor) -> Tensor:
    """Which of the further columns tells a size: steps of √2 from 2⁻⁸ to 2⁸, the first and the last without end."""
    steps = (2 * sizes.clamp(min=_TINY).log2()).round() + SIZES // 2
    return steps.clamp(0, SIZES - 1).long()


def _sized(x: Tensor) -> Tensor:
    """Rows of a CSR matrix with an entry in one of the further columns, as large as the row is long."""
    n, d = x.shape
    values, starts, counts = x.values().to(torch.float32), x.crow_indices(), x.crow_indices().diff()
    row = torch.repeat_interleave(torch.arange(n, device=x.device), counts)
    sums = torch.zeros(n, device=x.device)
    column = d + _size_column(sums.index_add(0, row, values.abs()))
    length = sums.index_add(0, row, values.square()).sqrt()
    # Entry k of row i moves on by i: so many rows before it have got one more. Its own row's comes last.
    wide_values, wide_columns = values.new_empty(len(values) + n), starts.new_empty(len(values) + n)
    old = torch.arange(len(values), device=x.device) + row
    new = starts[1:] + torch.arange(n, device=x.device)
    wide_values[old], wide_values[new] = values, length
    wide_columns[old], wide_columns[new] = x.col_indices(), column
    return csr(starts + torch.arange(n + 1, device=x.device), wide_columns, wide_values, (n, d + SIZES))


def _normalise_dense(x: Tensor, normalise: Normalise) -> Tensor:
    if normalise == "sized":
        size = torch.nn.functional.one_hot(_size_column(x.abs().sum(1)), SIZES) * x.norm(dim=1, keepdim=True)
        return _normalise_dense(torch.cat([x, size], 1), "l2")
    if normalise == "l2":
        return x * (x.shape[1] ** 0.5 / x.norm(dim=1, keepdim=True).clamp(min=_TINY))
    if normalise == "sum":
        return x / x.abs().sum(1, keepdim=True).clamp(min=_TINY)
    if normalise == "zscore":
        x = x - x.mean(1, keepdim=True)
        spread = x.square().mean(1, keepdim=True).sqrt()
        return torch.where(spread > 1e-6, x / spread.clamp(min=_TINY), 0.0)
    return x
