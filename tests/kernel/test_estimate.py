from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import torch

import girl
from girl.kernel.estimate import estimate_rho


def rng(seed=0):
    return np.random.default_rng(seed)


def test_known_answers():
    x = rng().normal(size=1000)
    assert girl.rho(x, 3 * x + 1) < 1e-3
    assert girl.rho(x, np.sin(3 * x)) < 0.01
    assert abs(girl.rho(x**2, x) - 1) < 0.05
    noise = rng(1).normal(size=1000)
    assert abs(girl.rho(x, x + 0.5 * noise) - 0.5) < 0.03
    assert abs(girl.rho(rng(2).normal(size=(1000, 200)), noise) - noise.std()) < 0.03


def test_invariant_under_monotone_maps_of_x_shift_and_scale_of_y():
    x, y = rng().normal(size=(500, 2)), rng(1).normal(size=500)
    y = y + 2 * x[:, 0]
    plain = girl.rho(x, y)
    assert abs(girl.rho(np.exp(3 * x), y) / plain - 1) < 0.05
    assert abs(girl.rho(x, 10 * y - 7) / (10 * plain) - 1) < 1e-6
    assert girl.rho(x, y) == plain


def test_the_standard_error_is_the_standard_deviation_over_draws():
    estimates = [
        estimate_rho(x, x + 0.7 * rng(100 + seed).normal(size=300))
        for seed in range(40)
        for x in [rng(seed).normal(size=300)]
    ]
    std = np.std([estimate.rho for estimate in estimates])
    stderr = np.mean([estimate.stderr for estimate in estimates])
    assert 0.6 < stderr / std < 1.6


def test_columns_are_estimated_one_by_one():
    x, noise = rng().normal(size=(400, 1)), rng(1).normal(size=(400, 1))
    result = estimate_rho(x, np.hstack([x, noise, 5 * noise]))
    assert result.columns[0] < 1e-3
    assert result.columns[2] == pytest.approx(5 * result.columns[1])
    assert result.rho == pytest.approx(np.mean(result.columns))
    assert result.columns[1] == pytest.approx(estimate_rho(x, noise).rho)
    assert 0 <= result.explained_variance < 0.1


def test_arrays_tensors_lists_and_sparse_matrices_give_the_same():
    x = rng().normal(size=(100, 2))
    y = (rng(1).random(size=(100, 3)) < 0.2).astype(float)
    expected = girl.rho(x, y)
    assert girl.rho(torch.from_numpy(x), torch.from_numpy(y)) == expected
    assert girl.rho(x.tolist(), y.astype(int)) == expected
    assert girl.rho(x, scipy.sparse.csr_matrix(y)) == expected
    assert girl.rho(torch.from_numpy(x).requires_grad_(), torch.from_numpy(y).to_sparse_csr()) == expected


def test_degenerate_data():
    x = rng().normal(size=(50, 80))  # more columns than rows
    assert 0 <= girl.rho(x, x[:, 0]) < 0.5
    x = rng().integers(0, 3, size=(200, 2))  # many equal rows
    assert girl.rho(x, x[:, 0] * 2.0) < 1e-3
    x = np.hstack([rng().normal(size=(100, 1)), np.ones((100, 1))])  # a constant column
    assert girl.rho(x, x[:, 0]) < 1e-3
    assert girl.rho(x, np.ones(100)) == 0.0  # a constant target
    assert girl.rho([0.0, 1.0], [0.0, 1.0]) >= 0.0  # two rows


def test_of_many_rows_a_sample_is_used():
    x = rng().normal(size=25_000)
    result = estimate_rho(x, x + 0.5 * rng(1).normal(size=25_000))
    assert result.rows == 20_000
    assert abs(result.rho - 0.5) < 0.02


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="targets.*9 rows.*10"):
        girl.rho(np.arange(10.0), np.arange(9.0))
    with pytest.raises(ValueError, match="nan.*row 3"):
        girl.rho(np.where(np.arange(10) == 3, np.nan, np.arange(10)), np.arange(10.0))
    with pytest.raises(ValueError, match="all 10 rows are equal"):
        girl.rho(np.ones(10), np.arange(10.0))
