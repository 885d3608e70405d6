from __future__ import annotations

import pytest
import torch

from girl.kernel.norm import column_scale, inflation, mean_norm, power_sums
from tests.helpers.samples import normal


def test_mean_of_column_norms():
    residual = normal(20, 3)
    for p in (1.0, 2.0, 3.5):
        found = mean_norm(power_sums(residual, p), power_sums(residual, p), 20, p, torch.float64, None)
        torch.testing.assert_close(found, residual.abs().pow(p).mean(0).pow(1 / p).mean())


def test_a_column_without_residual_has_no_gradient():
    sums = torch.tensor([0.0, 4.0, 1e-30], dtype=torch.float64, requires_grad=True)
    mean_norm(sums, torch.ones(3).double(), 1, 2.0, torch.float64, None).backward()
    assert sums.grad is not None
    assert sums.grad.tolist() == pytest.approx([0.0, 1 / 12, 0.0])
    assert sums.grad[0] == sums.grad[2] == 0


def test_interpolated_rows_are_left_out():
    assert inflation(torch.tensor([0.5, 0.0, -1e-9])).tolist() == [2.0, 0.0, 0.0]


def test_column_scale_of_zero_is_one():
    assert column_scale(torch.tensor([[0.0, -3.0], [0.0, 2.0]])).tolist() == [1.0, 3.0]


def test_large_p_stays_in_range():
    from girl import KRLoss

    x, y = normal(30, 3), 1e6 * normal(30, 2, seed=1)
    found = KRLoss(features="exact", p=200.0)(x.float(), y.float())
    assert torch.isfinite(found)
    residual_max = KRLoss(features="exact", p=400.0)(x, y)
    assert abs(float(found / residual_max) - 1) < 0.05  # both near the largest residual
