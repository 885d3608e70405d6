r"""Principal components of a matrix that is known by its products only, so that a sparse one is never written out."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

#: Columns drawn beyond the rank, and passes over the matrix (Halko, Martinsson & Tropp, 2011). What is wanted is a
#: faithful summary of a target, not its last component to many digits: two passes do.
OVERSAMPLE = 16
PASSES = 2

#: Columns of A V that are in memory at a time, where it is only passed through.
BLOCK = 64

Product = Callable[[Tensor], Tensor]


def columns_multiplied(rank: int) -> int:
    """How many columns go through the matrix, there or back, on the way to ``rank`` components."""
    return (2 * PASSES + 1) * (rank + OVERSAMPLE)


def principal_components(
    product: Product, t_product: Product, shape: tuple[int, int], rank: int, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Scores (n × r), directions (d × r) and column means (d) of a matrix A (n × d), by randomised subspace iteration.

    With :math:`A_c = A - 1\mu^\top \approx U S V^\top`, the scores are :math:`US = A_cV`. Centring costs a term of rank
    one in each product. Of n × r numbers only the scores themselves are held, before and after they are turned: the
    iteration lives in the d dimensions of the columns, and passes through the n of the rows in blocks.

    Args:
        product: W ↦ A W, in memory of its own.
        t_product: Z ↦ Aᵀ Z.
        shape: n and d.
        rank: r, at most min(n, d).
        generator: draws the first subspace.
    """
    centred = _Centred(product, t_product, shape, generator.device)
    basis = _basis(centred, shape, rank, generator)
    scores = centred(basis)  # n × width
    turn = _turn(scores.T @ scores, basis, rank)
    return scores @ turn, basis @ turn, centred.mean.squeeze(1)


def principal_directions(
    product: Product, t_product: Product, shape: tuple[int, int], rank: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Directions and column means alone, as :func:`principal_components` gives them: no more than a block of n rows."""
    centred = _Centred(product, t_product, shape, generator.device)
    basis = _basis(centred, shape, rank, generator)
    turn = _turn(basis.T @ centred.squared(basis), basis, rank)
    return basis @ turn, centred.mean.squeeze(1)


class _Centred:
    """The matrix without its column means."""

    def __init__(self, product: Product, t_product: Product, shape: tuple[int, int], device: torch.device) -> None:
        self._product, self._t_product = product, t_product
        n, _ = shape
        self.mean = t_product(torch.full((n, 1), 1 / n, device=device))  # d × 1

    def __call__(self, w: Tensor) -> Tensor:
        return self._product(w).sub_(self.mean.T @ w)

    def squared(self, w: Tensor) -> Tensor:
        """Products with the matrix and back, d × k. Columns of the first sum to zero: the way back needs no means."""
        return torch.cat([self._t_product(self(block)) for block in w.split(BLOCK, 1)], 1)


def _basis(centred: _Centred, shape: tuple[int, int], rank: int, generator: torch.Generator) -> Tensor:
    """An orthonormal basis (d × width) that holds the leading directions; all of them where they are few."""
    n, d = shape
    width = min(rank + OVERSAMPLE, n, d)
    if width == d:
        return torch.eye(d, device=generator.device)
    basis = torch.randn(d, width, generator=generator, device=generator.device)
    for _ in range(PASSES):
        basis = torch.linalg.qr(centred.squared(basis))[0]
    return basis


def _turn(gram: Tensor, basis: Tensor, rank: int) -> Tensor:
    """How a basis is turned into its leading principal directions (width × r), by the products of its scores."""
    found = torch.linalg.eigh(gram.double())[1].flip(1)[:, :rank].to(basis.dtype)
    directions = basis @ found
    # The sign of an eigenvector is arbitrary; with the largest entry positive it does not hang on the library.
    sign = directions.gather(0, directions.abs().argmax(0, keepdim=True)).sign().where(directions.any(0), 1.0)
    return found * sign
