from __future__ import annotations

import pytest
import torch

from girl.kernel.products import gram, own_weight, residual_sums
from tests.helpers.samples import normal


def test_gram_and_its_gradient():
    phi = normal(9, 4).requires_grad_()
    torch.testing.assert_close(gram(phi), phi.T @ phi)
    assert torch.autograd.gradcheck(gram, phi)


def test_own_weight_is_the_diagonal():
    phi, core = normal(9, 4).requires_grad_(), normal(4, 4, seed=1)
    core = (core + core.T).requires_grad_()
    torch.testing.assert_close(own_weight(phi, core), (phi @ core @ phi.T).diagonal())
    assert torch.autograd.gradcheck(lambda p, c: own_weight(p, (c + c.T) / 2), (phi, core))


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("inflated", [False, True])
def test_residual_sums(p, inflated):
    y, phi, fit = normal(9, 5), normal(9, 4, seed=1), normal(4, 5, seed=2)
    inflate = normal(9, seed=3).abs() + 1 if inflated else None
    residual = (y - phi @ fit) * (1 if inflate is None else inflate[:, None])
    torch.testing.assert_close(residual_sums(y, phi, fit, inflate, p), residual.abs().pow(p).sum(0))
    leaves = [t.requires_grad_() for t in (y, phi, fit)] + ([inflate.requires_grad_()] if inflate is not None else [])
    assert torch.autograd.gradcheck(lambda y, phi, fit, u=None: residual_sums(y, phi, fit, u, p), leaves, atol=1e-5)
