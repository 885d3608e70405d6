from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from girl import KRLoss
from girl.kernel.residuals import (
    column_scale,
    gram,
    largest_entries,
    leave_one_out_factors,
    leverages,
    mean_norm,
    power_sums,
    residual_sums,
    ridge_residual_sums,
    without_rounding,
)
from tests.helpers.samples import normal, seeded


def test_mean_norm_is_the_mean_of_column_norms():
    residual = normal(20, 3)
    for p in (1.0, 2.0, 3.5):
        value = mean_norm(power_sums(residual, p), power_sums(residual, p), 20, p, torch.float64, None)
        torch.testing.assert_close(value, residual.abs().pow(p).mean(0).pow(1 / p).mean())


def test_a_column_without_residual_has_no_gradient():
    sums = torch.tensor([0.0, 4.0, 1e-30], dtype=torch.float64, requires_grad=True)
    mean_norm(sums, torch.ones(3).double(), 1, 2.0, torch.float64, None).backward()
    assert sums.grad is not None
    assert sums.grad.tolist() == pytest.approx([0.0, 1 / 12, 0.0])
    assert sums.grad[0] == sums.grad[2] == 0


def test_rounding_is_dropped_only_where_its_sign_would_be_the_gradient():
    residual = torch.tensor([[1e-14, 0.5]]).double()
    assert without_rounding(residual, 1.5).tolist() == [[0.0, 0.5]]
    assert torch.equal(without_rounding(residual, 2.0), residual)


def test_leave_one_out_residuals_are_those_of_refits():
    y, phi, penalty = normal(12, 2), normal(12, 4, seed=1), 0.3
    hat = phi @ torch.linalg.inv(phi.T @ phi + penalty * torch.eye(4)) @ phi.T
    refits = []
    for i in range(12):
        rest = torch.arange(12) != i
        fit = torch.linalg.solve(phi[rest].T @ phi[rest] + penalty * torch.eye(4), phi[rest].T @ y[rest])
        refits.append(y[i] - phi[i] @ fit)
    factors = leave_one_out_factors(1 - hat.diagonal())
    torch.testing.assert_close((y - hat @ y) * factors[:, None], torch.stack(refits))


def test_interpolated_rows_are_left_out():
    assert leave_one_out_factors(torch.tensor([0.5, 0.0, -1e-9])).tolist() == [2.0, 0.0, 0.0]


def test_the_scale_of_a_column_is_its_largest_entry_or_one():
    assert column_scale(largest_entries(torch.tensor([[0.0, -3.0], [0.0, 2.0]]))).tolist() == [1.0, 3.0]
    assert largest_entries(torch.zeros(0, 2)).tolist() == [0.0, 0.0]


def test_large_p_does_not_overflow():
    x, y = normal(30, 3), 1e6 * normal(30, 2, seed=1)
    value = KRLoss(features="exact", p=200.0)(x.float(), y.float())
    assert torch.isfinite(value)
    largest = KRLoss(features="exact", p=400.0)(x, y)
    assert abs(float(value / largest) - 1) < 0.05  # both near the largest residual


def test_gram_and_its_gradient():
    phi = normal(9, 4).requires_grad_()
    torch.testing.assert_close(gram(phi), phi.T @ phi)
    assert torch.autograd.gradcheck(gram, phi)


def test_leverages_are_the_diagonal_of_the_hat_matrix():
    phi, core = normal(9, 4).requires_grad_(), normal(4, 4, seed=1)
    core = (core + core.T).requires_grad_()
    torch.testing.assert_close(leverages(phi, core), (phi @ core @ phi.T).diagonal())
    assert torch.autograd.gradcheck(lambda p, c: leverages(p, (c + c.T) / 2), (phi, core))


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("leave_one_out", [False, True])
def test_residual_sums_and_their_gradient(p, leave_one_out):
    y, phi, fit = normal(9, 5), normal(9, 4, seed=1), normal(4, 5, seed=2)
    factors = normal(9, seed=3).abs() + 1 if leave_one_out else None
    residual = (y - phi @ fit) * (1 if factors is None else factors[:, None])
    torch.testing.assert_close(residual_sums(y, phi, fit, factors, p), residual.abs().pow(p).sum(0))
    inputs = [t.requires_grad_() for t in (y, phi, fit)] + ([factors.requires_grad_()] if factors is not None else [])
    assert torch.autograd.gradcheck(lambda y, phi, fit, u=None: residual_sums(y, phi, fit, u, p), inputs, atol=1e-5)


@settings(deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 4), st.floats(0.01, 10), st.integers(0, 2**32))
def test_gradient_of_ridge_residual_sums_equals_finite_differences(n, r, m, penalty, seed):
    generator = seeded(seed)
    y = torch.randn(n, m, generator=generator, dtype=torch.float64, requires_grad=True)
    phi = torch.randn(n, r, generator=generator, dtype=torch.float64, requires_grad=True)
    weights = torch.rand(m, generator=generator, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda y, phi: ridge_residual_sums(y, phi, penalty) @ weights, (y, phi))


@settings(deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.floats(0.01, 10), st.integers(0, 2**32))
def test_ridge_residual_sums_are_those_of_the_hat_matrix(n, r, penalty, seed):
    generator = seeded(seed)
    y = torch.randn(n, 3, generator=generator, dtype=torch.float64)
    phi = torch.randn(n, r, generator=generator, dtype=torch.float64)
    hat = phi @ torch.linalg.inv(phi.T @ phi + penalty * torch.eye(r, dtype=y.dtype)) @ phi.T
    expected = (y - hat @ y).square().sum(0)
    torch.testing.assert_close(ridge_residual_sums(y, phi, penalty), expected, rtol=1e-8, atol=1e-10)
