from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from girl.kernel.scales import (
    _kernel_matrix,
    _shares_and_gradient,
    _unit_distances,
    _unit_products,
    _unit_spread,
    learn_scales,
    score_of_shares,
)


def rows(m=300, d=3, seed=0):
    return torch.randn(m, d, generator=torch.Generator().manual_seed(seed))


def test_the_gradient_equals_finite_differences():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 12, 2, generator=generator, dtype=torch.float64)
    kernel = torch.exp(-torch.cdist(x, x).square())
    targets = [torch.randn(2, 12, c, generator=generator, dtype=torch.float64) * 0.1 + 0.1 * x for c in (2, 2)]
    weights = [1.0, 0.5]

    def score(matrix):
        return score_of_shares(_shares_and_gradient(matrix, 0.1, targets, weights)[0], weights)

    _, _, gradient = _shares_and_gradient(kernel, 0.1, targets, weights)
    for seed in range(3):
        change = torch.randn(2, 12, 12, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        change = 1e-6 * (change + change.mT)  # kernels are symmetric
        numeric = (score(kernel + change) - score(kernel - change)) / 2
        assert numeric == pytest.approx(float((gradient * change).sum()), rel=1e-4)


def test_shares_are_those_of_refitting_without_each_row():
    x, y = rows(20, 2).double(), rows(20, 3, seed=1).double()
    y = (y - y.mean(0)) / (y - y.mean(0)).norm()
    kernel, strength = torch.exp(-torch.cdist(x, x).square()), 0.05
    (share,), _, _ = _shares_and_gradient(kernel.unsqueeze(0), strength, [y.unsqueeze(0)], [1.0])
    error = 0.0
    for i in range(20):
        others = [j for j in range(20) if j != i]
        inner = kernel[others][:, others] + 20 * strength * torch.eye(19, dtype=torch.float64)
        error += float((y[i] - kernel[i, others] @ torch.linalg.solve(inner, y[others])).square().sum())
    assert share == pytest.approx(1 - error, abs=1e-10)


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_the_part_that_explains_gets_the_largest_scale(kernel):
    useful, noise, other = rows(600), rows(600, 20, seed=1), rows(600, 5, seed=2)
    targets = [useful.sin(), torch.cat([useful**2 * (kernel == "gaussian"), useful], 1)]
    learned = learn_scales([noise, useful, other], targets, [1.0, 1.0], kernel=kernel)
    assert learned.scales[1] == 1
    assert max(learned.scales[0], learned.scales[2]) < 0.4
    assert min(learned.shares) > 0.6


def test_shuffled_targets_are_not_explained_within_the_error():
    part, target = rows(900), rows(900).sin()[torch.randperm(900, generator=torch.Generator().manual_seed(3))]
    learned = learn_scales([part], [target], [1.0])
    assert abs(learned.shares[0]) < 3 * learned.stderrs[0] + 0.005


def test_the_standard_error_is_that_of_other_draws_of_the_rows():
    def share(seed):
        part, noise = rows(600, seed=seed), rows(600, seed=100 + seed)
        return learn_scales([part], [part.sin() + 0.5 * noise], [1.0])

    draws = [share(seed) for seed in range(12)]
    spread = np.std([draw.shares[0] for draw in draws])
    assert 0.4 * spread < np.mean([draw.stderrs[0] for draw in draws]) < 2.5 * spread


@settings(max_examples=20, deadline=None)
@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.floats(-50, 50))
def test_units_of_parts_and_targets_do_not_matter(a, b, shift):
    part, noise = rows(120), rows(120, 4, seed=1)
    target = part.cos()
    first = learn_scales([part, noise], [target], [1.0])
    second = learn_scales([a * part + shift, noise], [b * target - shift], [3.0])
    assert np.allclose(first.shares, second.shares, atol=0.02)


def test_a_share_counts_by_its_factor_and_not_below_the_floor():
    weights = [1.0, 1.0]
    base = score_of_shares([0.1, 0.4], weights)
    assert score_of_shares([0.2, 0.4], weights) > base + 0.2  # twice as much
    assert score_of_shares([0.1, 0.5], weights) < base + 0.12  # a quarter more
    assert abs(score_of_shares([-0.3, 0.4], weights) - score_of_shares([0.0, 0.4], weights)) < 0.06
    assert score_of_shares([0.1, 0.1], [1.0, 7.0]) == pytest.approx(math.log(0.2), abs=1e-6)


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
@pytest.mark.parametrize("strength", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("width", [2, 50, 1000])
def test_noise_is_not_explained_at_any_strength(kernel, strength, width):
    unit = _unit_distances if kernel == "gaussian" else _unit_products
    part, target = rows(300, width).double().unsqueeze(0), rows(300, 20, seed=1).double().unsqueeze(0)
    for scale in (0.1, 1.0, 20.0):
        matrix = _kernel_matrix(scale * unit(part), kernel)
        (share,), _, _ = _shares_and_gradient(matrix, strength, [_unit_spread(target)], [1.0])
        assert share < 0.03
