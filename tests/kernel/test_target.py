from __future__ import annotations

import pytest
import torch

from girl.kernel.target import DenseTarget, MomentsTarget
from tests.helpers.samples import normal


def rho_of(target, chunks, phi, fit, factors):
    """ρ̂ from the sums over chunks of four rows."""
    sums, weighted_gram = None, None
    for index, part in enumerate(phi.split(4)):
        factor = None if factors is None else factors.split(4)[index]
        chunk = None if chunks is None else chunks.split(4)[index]
        new = target.residual_sums(index, chunk, part, fit, factor)
        sums = new if sums is None else [a + b for a, b in zip(sums, new, strict=True)]
    weighted = phi if factors is None else phi * factors[:, None]
    weighted_gram = weighted.T @ weighted
    return target.rho(sums, fit, weighted_gram, len(phi), True)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("leave_one_out", [False, True])
def test_every_kind_of_target_gives_the_norm_of_the_residual(p, leave_one_out):
    dense = 3 * normal(10, 5) * (normal(10, 5, seed=1) > 0)
    phi, fit = normal(10, 4, seed=2), normal(4, 5, seed=3)
    factors = normal(10, seed=4).abs() + 1 if leave_one_out else None
    residual = (dense - phi @ fit) * (1 if factors is None else factors[:, None])
    expected = residual.abs().pow(p).mean(0).pow(1 / p).mean()
    y = dense.to_sparse_csr()
    targets = [
        (DenseTarget(dense, p, 4, torch.float64, None), dense),
        (DenseTarget(y, p, 4, torch.float64, None), None),
    ]
    if p == 2:
        targets.append((MomentsTarget(y, 4, torch.float64), None))
    for target, chunks in targets:
        scale = 1 if getattr(target, "scale", None) is None else target.scale  # the fit is of the scaled target
        torch.testing.assert_close(rho_of(target, chunks, phi, fit / scale, factors), expected)
        projected = sum(
            target.project(index, None if chunks is None else chunks.split(4)[index], part)
            for index, part in enumerate(phi.split(4))
        )
        torch.testing.assert_close(projected * scale, phi.T @ dense)


def test_moments_that_cancel_to_rounding_are_zero():
    phi, fit = normal(10, 4, seed=2), normal(4, 5, seed=3)
    target = MomentsTarget((phi @ fit).to_sparse_csr(), 4, torch.float64)
    assert float(rho_of(target, None, phi, fit, None)) == 0.0
