r"""The design matrix of a linear model: rows of an embedding, centred and scaled without being copied dense."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from girl.kernel import sparse


class Design:
    r"""A matrix :math:`\tilde X = (X - 1\mu^\top)/s`, dense or CSR, as the two products that a linear model needs.

    :math:`\mu` is the mean row and s² the mean squared length of the centred rows: one number for the whole matrix,
    so that directions in which the embedding varies most keep the say that the encoder gave them, while a strength
    of regularisation means the same at any scale and width. The centred matrix of a sparse one is never formed.

    Classes come first, k × d and k × n: a few long rows multiply about twice as fast as long thin columns.
    """

    def __init__(self, x: Tensor) -> None:
        self.x = x
        self._turned = sparse.transpose(x) if x.layout == torch.sparse_csr else None
        n = x.shape[0]
        ones = torch.ones(n, 1, dtype=x.dtype)
        values = x.values() if self._turned is not None else x
        self.mean = ((self._turned if self._turned is not None else x.T) @ ones).T / n  # 1 × d
        spread = float(values.double().square().sum()) / n - float(self.mean.double().square().sum())
        # A constant matrix has no spread: it stays as it is, and the intercept does all the work.
        floor = 1e-12 * float(self.mean.double().square().sum())
        self.scale = spread**0.5 if spread > floor else 1.0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows n and columns d."""
        return self.x.shape[0], self.x.shape[1]

    def times(self, w: Tensor) -> Tensor:
        r""":math:`w\tilde X^\top`, k × n, for weights k × d."""
        product = w @ self.x.T if self._turned is None else (self.x @ w.T).T.contiguous()
        return product.sub_(w @ self.mean.T).div_(self.scale)

    def turned(self, g: Tensor) -> Tensor:
        r""":math:`g\tilde X`, k × d, for g k × n."""
        product = g @ self.x if self._turned is None else (self._turned @ g.T).T.contiguous()
        return product.sub_(g.sum(1, keepdim=True) * self.mean).div_(self.scale)

    def gram(self) -> Tensor:
        r"""The smaller of :math:`\tilde X\tilde X^\top` and :math:`\tilde X^\top\tilde X`, in float64."""
        n, d = self.shape
        if self._turned is None:
            centred = (self.x.double() - self.mean.double()).div_(self.scale)
            return centred @ centred.T if n < d else centred.T @ centred
        x = to_scipy(self.x.double())
        mean = self.mean.double()
        if n < d:
            product = torch.from_numpy((x @ x.T).toarray())
            across = torch.from_numpy(x @ mean[0].numpy())[:, None]
            product += float(mean.square().sum()) - across - across.T
        else:
            product = torch.from_numpy((x.T @ x).toarray()) - n * mean.T @ mean
        return product.div_(self.scale**2)


def to_scipy(x: Tensor) -> scipy.sparse.csr_matrix:
    """A CSR tensor as scipy's, sharing its memory."""
    return scipy.sparse.csr_matrix((x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy()), x.shape)


def take(x: Tensor) -> Callable[[Tensor], Tensor]:
    """A function that picks rows of a dense or CSR matrix."""
    if x.layout != torch.sparse_csr:
        return lambda at: x[at]
    matrix = to_scipy(x)  # torch cannot index the rows of a CSR tensor

    def pick(at: Tensor) -> Tensor:
        part = matrix[at.numpy()]
        crow, col = torch.from_numpy(part.indptr).long(), torch.from_numpy(part.indices).long()
        return sparse.csr(crow, col, torch.from_numpy(part.data), (len(at), x.shape[1]))

    return pick


def sample(nodes: int, most: int, seed: int) -> Tensor:
    """At most ``most`` of the nodes, sorted."""
    if nodes <= most:
        return torch.arange(nodes)
    return torch.from_numpy(np.sort(np.random.default_rng(seed).choice(nodes, most, replace=False)))
