r"""Leading eigenvectors and principal components of matrices known only by their products, by subspace iteration.

scipy's ``eigsh`` converges to many digits, which features do not need, and takes several times as long. scikit-learn's
``randomized_svd`` is the same iteration, slower by its QR decompositions, and needs a stored matrix: centring would
make a sparse one dense. All times are in results/bench/sparse.json.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

#: Extra columns beyond the rank, and passes over the matrix (Halko, Martinsson & Tropp, 2011). A target needs a
#: faithful summary, not its last component to many digits: two passes are enough.
OVERSAMPLE = 16
PASSES = 2

#: Columns of A V that are in memory at a time, where they are only an intermediate result.
BLOCK = 64

Product = Callable[[Tensor], Tensor]


def orthonormalize(z: Tensor) -> Tensor:
    """An orthonormal basis of the columns of z (n × b, n ≫ b), without those that depend on the others.

    By the Gram matrix, which is faster for many rows than a QR decomposition.
    """
    for _ in range(2):  # the second pass removes what rounding left
        values, vectors = torch.linalg.eigh((z.T @ z).double())
        keep = values > 1e-7 * values[-1]
        z = z @ (vectors[:, keep] / values[keep].sqrt()).to(z.dtype)
    return z


def iterate_subspace(
    product: Product, basis: Tensor, steps: int, interval: int = 1, orthonormal: Product = orthonormalize
) -> Tensor:
    """A basis of nearly the span of the leading eigenvectors of a matrix with eigenvalues ≥ 0.

    Args:
        product: Z ↦ M Z.
        basis: the start, n × b.
        steps: number of products.
        interval: products between two orthonormalisations.
        orthonormal: returns an orthonormal basis of the columns.
    """
    for step in range(1, steps + 1):
        basis = product(basis)
        if step % interval == 0:
            basis = orthonormal(basis)
    return basis


def leading_rotation(gram: Tensor, basis: Tensor, rank: int) -> Tensor:
    """The rotation (b × rank) of a basis B (n × b) to the leading eigenvectors of M within it; ``gram`` is BᵀMB.

    The sign of an eigenvector is arbitrary; here its largest entry is positive, whatever the library.
    """
    rotation = torch.linalg.eigh((gram + gram.T).double() / 2)[1].flip(1)[:, :rank].to(basis.dtype)
    vectors = basis @ rotation
    sign = vectors.gather(0, vectors.abs().argmax(0, keepdim=True)).sign().where(vectors.any(0), 1.0)
    return rotation * sign


def columns_multiplied(rank: int) -> int:
    """How many columns are multiplied with the matrix or its transpose to find ``rank`` components."""
    return (2 * PASSES + 1) * (rank + OVERSAMPLE)


def principal_components(
    product: Product, t_product: Product, shape: tuple[int, int], rank: int, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Scores (n × r), directions (d × r) and column means (d) of a matrix A (n × d).

    With :math:`A_c = A - 1\mu^\top \approx U S V^\top`, the scores are :math:`US = A_cV`. Centring costs a term of rank
    one in each product. The iteration runs in the d dimensions of the columns, and in blocks of the n rows, so that
    only the scores need n × r numbers, before and after their rotation.

    Args:
        product: W ↦ A W, as a new tensor.
        t_product: Z ↦ Aᵀ Z.
        shape: n and d.
        rank: r, at most min(n, d).
        generator: draws the first subspace.
    """
    centered = _Centered(product, t_product, shape, generator.device)
    basis = centered.leading_basis(rank, generator)
    scores = centered(basis)  # n × b
    rotation = leading_rotation(scores.T @ scores, basis, rank)
    return scores @ rotation, basis @ rotation, centered.mean.squeeze(1)


def principal_directions(
    product: Product, t_product: Product, shape: tuple[int, int], rank: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Only the directions and column means of :func:`principal_components`, with at most a block of n × 64 numbers."""
    centered = _Centered(product, t_product, shape, generator.device)
    basis = centered.leading_basis(rank, generator)
    return basis @ leading_rotation(basis.T @ centered.covariance(basis), basis, rank), centered.mean.squeeze(1)


class _Centered:
    """The matrix A without its column means, A_c."""

    def __init__(self, product: Product, t_product: Product, shape: tuple[int, int], device: torch.device) -> None:
        self._product, self._t_product, self._shape = product, t_product, shape
        self.mean = t_product(torch.full((shape[0], 1), 1 / shape[0], device=device))  # d × 1

    def __call__(self, w: Tensor) -> Tensor:
        """A_c W (n × k)."""
        return self._product(w).sub_(self.mean.T @ w)

    def covariance(self, w: Tensor) -> Tensor:
        """A_cᵀA_c W (d × k). The columns of A_c W sum to zero, so the second product needs no means."""
        return torch.cat([self._t_product(self(block)) for block in w.split(BLOCK, 1)], 1)

    def leading_basis(self, rank: int, generator: torch.Generator) -> Tensor:
        """An orthonormal basis (d × b) that holds the leading directions; all of them if they are few."""
        n, d = self._shape
        width = min(rank + OVERSAMPLE, n, d)
        if width == d:
            return torch.eye(d, device=generator.device)
        start = torch.randn(d, width, generator=generator, device=generator.device)
        # The columns can be nearly dependent here, and none may be lost: QR, which is fast for d rows.
        return iterate_subspace(self.covariance, start, PASSES, orthonormal=lambda z: torch.linalg.qr(z)[0])
