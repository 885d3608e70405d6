from __future__ import annotations

import pytest
import torch

from girl.kernel.smoother import Clamp, Projection, Ridge, inverse_spd
from tests.helpers.samples import normal

SMOOTHERS = [Ridge(1e-2), Clamp(), Clamp(0.3), Projection(1e-2)]


def psd(n=8, rank=8, seed=0):
    root = normal(n, rank, seed=seed)
    return root @ root.T


@pytest.mark.parametrize("smoother", SMOOTHERS)
def test_residual_matrix_has_the_residual_weights_as_eigenvalues(smoother):
    kernel = psd()
    values, vectors = torch.linalg.eigh(kernel)
    expected = vectors @ torch.diag(smoother.residual_weights(values)) @ vectors.T
    torch.testing.assert_close(smoother.residual_matrix(kernel), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("smoother", SMOOTHERS)
def test_core_and_residual_matrix_are_the_same_smoother(smoother):
    phi = normal(12, 5)
    kernel = phi @ phi.T
    hat = phi @ smoother.core(phi.T @ phi, 12) @ phi.T
    torch.testing.assert_close(torch.eye(12).double() - hat, smoother.residual_matrix(kernel), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("smoother", SMOOTHERS)
@pytest.mark.parametrize("form", ["residual_matrix", "core"])
@pytest.mark.parametrize("repeated", [False, True])
def test_gradient_equals_finite_differences_also_at_repeated_eigenvalues(smoother, form, repeated):
    matrix = psd()
    if repeated:
        vectors = torch.linalg.eigh(matrix).eigenvectors
        values = torch.tensor([0.1, 0.1, 0.1, 0.5, 2.0, 2.0, 7.0, 7.0]).double()
        matrix = vectors @ torch.diag(values) @ vectors.T

    def function(a):
        a = (a + a.T) / 2
        return smoother.residual_matrix(a) if form == "residual_matrix" else smoother.core(a, 8)

    assert torch.autograd.gradcheck(function, matrix.requires_grad_(), atol=1e-5, rtol=1e-4)


def test_inverse_and_its_gradient():
    matrix = psd() + torch.eye(8)
    torch.testing.assert_close(inverse_spd(matrix) @ matrix, torch.eye(8).double())
    assert torch.autograd.gradcheck(lambda a: inverse_spd((a + a.T) / 2), matrix.requires_grad_())


def test_ridge_smooths_batches_of_any_size_equally():
    # Twice the rows, twice the eigenvalues: the residual weights stay.
    values = torch.tensor([0.5, 3.0]).double()
    once = Ridge(1e-2).residual_weights(torch.cat([values, torch.zeros(8)]))[:2]
    twice = Ridge(1e-2).residual_weights(torch.cat([2 * values, torch.zeros(18)]))[:2]
    torch.testing.assert_close(once, twice)
