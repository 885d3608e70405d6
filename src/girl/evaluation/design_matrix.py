r"""The design matrix of a linear model: rows of an embedding, centred and scaled without a dense copy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from girl.kernel.sparse import SparseMatrix, take_rows, to_scipy


class DesignMatrix:
    r"""A matrix :math:`\tilde X = (X - 1\mu^\top)/s`, dense or CSR, with the two products that a linear model needs.

    :math:`\mu` is the mean row and s² the mean squared length of the centred rows. One scale serves all columns, so
    the directions in which the embedding varies most stay the strongest, and a regularization strength means the same
    at any scale and width. A sparse matrix stays sparse.

    Classes come first, k × d and k × n: a few long rows multiply about twice as fast as long thin columns.
    """

    def __init__(self, x: Tensor) -> None:
        self.x = x
        self._sparse = SparseMatrix(x) if x.layout == torch.sparse_csr else None
        n = x.shape[0]
        ones = torch.ones(n, 1, dtype=x.dtype)
        values = x if self._sparse is None else self._sparse.values
        self.mean = (x.T @ ones if self._sparse is None else self._sparse.t_matmul(ones)).T / n  # 1 × d
        mean_square = float(self.mean.double().square().sum())
        variance = float(values.double().square().sum()) / n - mean_square
        # A constant matrix has no variance and is not scaled; the intercept then does all the work.
        self.scale = variance**0.5 if variance > 1e-12 * mean_square else 1.0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows n and columns d."""
        return self.x.shape[0], self.x.shape[1]

    def times_transpose(self, w: Tensor) -> Tensor:
        r""":math:`w\tilde X^\top`, k × n, for weights w, k × d."""
        product = w @ self.x.T if self._sparse is None else (self._sparse @ w.T).T.contiguous()
        return product.sub_(w @ self.mean.T).div_(self.scale)

    def times(self, g: Tensor) -> Tensor:
        r""":math:`g\tilde X`, k × d, for g, k × n."""
        product = g @ self.x if self._sparse is None else self._sparse.t_matmul(g.T).T.contiguous()
        return product.sub_(g.sum(1, keepdim=True) * self.mean).div_(self.scale)

    def gram(self) -> Tensor:
        r"""The smaller of :math:`\tilde X\tilde X^\top` and :math:`\tilde X^\top\tilde X`, in float64."""
        n, d = self.shape
        if self._sparse is None:
            centered = (self.x.double() - self.mean.double()).div_(self.scale)
            return centered @ centered.T if n < d else centered.T @ centered
        x = to_scipy(self.x.double())
        mean = self.mean.double()
        if n < d:
            product = torch.from_numpy((x @ x.T).toarray())
            x_mean = torch.from_numpy(x @ mean[0].numpy())[:, None]
            product += float(mean.square().sum()) - x_mean - x_mean.T
        else:
            product = torch.from_numpy((x.T @ x).toarray()) - n * mean.T @ mean
        return product.div_(self.scale**2)


def row_selector(x: Tensor) -> Callable[[Tensor], Tensor]:
    """A function that returns the given rows of a dense or CSR matrix."""
    return (lambda rows: take_rows(x, rows)) if x.layout == torch.sparse_csr else (lambda rows: x[rows])


def sample(nodes: int, most: int, seed: int) -> Tensor:
    """A random sample of at most ``most`` nodes, sorted."""
    if nodes <= most:
        return torch.arange(nodes)
    return torch.from_numpy(np.sort(np.random.default_rng(seed).choice(nodes, most, replace=False)))
