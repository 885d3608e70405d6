r"""Principal components of a matrix that is known by its products only, so that a sparse one is never written out."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

#: Columns drawn beyond the rank, and passes over the matrix (Halko, Martinsson & Tropp, 2011). What is wanted is a
#: faithful summary of a target, not its last component to many digits: one pass does.
OVERSAMPLE = 16
PASSES = 1


def principal_components(
    product: Callable[[Tensor], Tensor],
    t_product: Callable[[Tensor], Tensor],
    shape: tuple[int, int],
    rank: int,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Scores (n × r), directions (d × r) and column means (d) of a matrix A (n × d), by randomised subspace iteration.

    With :math:`A_c = A - 1\mu^\top \approx U S V^\top`, the scores are :math:`US = A_cV`. Centring costs a term of rank
    one in each product.

    Args:
        product: W ↦ A W.
        t_product: Z ↦ Aᵀ Z.
        shape: n and d.
        rank: r, at most min(n, d).
        generator: draws the first subspace.
    """
    n, d = shape
    width = min(rank + OVERSAMPLE, n, d)
    device = generator.device
    mean = t_product(torch.full((n, 1), 1 / n, device=device))  # d × 1

    def centred(w: Tensor) -> Tensor:
        return product(w) - mean.T @ w

    def t_centred(z: Tensor) -> Tensor:
        return t_product(z) - mean * z.sum(0)

    basis = torch.linalg.qr(centred(torch.randn(d, width, generator=generator, device=device)))[0]  # n × width
    for _ in range(PASSES):
        basis = torch.linalg.qr(centred(torch.linalg.qr(t_centred(basis))[0]))[0]
    left, spread, turned = torch.linalg.svd(t_centred(basis).T, full_matrices=False)  # of B = QᵀA_c, width × d
    directions = turned[:rank].T.contiguous()
    # The sign of a singular vector is arbitrary; with the largest entry positive it does not hang on the library.
    largest = directions.abs().argmax(0, keepdim=True)
    sign = directions.gather(0, largest).sign().where(directions.any(0), 1.0)
    return basis @ (left[:, :rank] * spread[:rank] * sign), directions * sign, mean.squeeze(1)
