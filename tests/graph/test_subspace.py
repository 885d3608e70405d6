from __future__ import annotations

import pytest
import torch

from girl.graph.subspace import (
    BLOCK,
    iterate_subspace,
    leading_rotation,
    orthonormalize,
    principal_components,
    principal_directions,
)


def components(a, rank, seed=0):
    return principal_components(a.__matmul__, a.T.__matmul__, tuple(a.shape), rank, torch.Generator().manual_seed(seed))


def test_components_of_a_matrix_of_low_rank_are_exact():
    torch.manual_seed(0)
    a = torch.randn(200, 5) @ torch.randn(5, 40) + 3
    scores, directions, mean = components(a, 5)
    torch.testing.assert_close(mean, a.mean(0))
    torch.testing.assert_close(scores @ directions.T + mean, a, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(scores, (a - mean) @ directions, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(directions.T @ directions, torch.eye(5), rtol=0, atol=1e-4)


def test_components_keep_nearly_the_variance_of_the_exact_ones():
    torch.manual_seed(0)
    a = torch.randn(300, 100) * torch.linspace(3, 0.1, 100)
    kept = components(a, 20)[0].square().sum()
    best = torch.linalg.svdvals(a - a.mean(0))[:20].square().sum()
    assert kept > 0.97 * best


def test_signs_do_not_depend_on_the_seed():
    torch.manual_seed(0)
    a = torch.randn(100, 4) @ torch.diag(torch.tensor([8.0, 4, 2, 1])) @ torch.randn(4, 12)
    torch.testing.assert_close(components(a, 3, seed=0)[1], components(a, 3, seed=1)[1], rtol=1e-2, atol=1e-3)


def test_a_constant_matrix_has_zero_scores():
    scores, _, _ = components(torch.ones(20, 6), 3)
    assert scores.abs().max() < 1e-4


@pytest.mark.parametrize("shape", [(400, 300), (90, 300), (300, 40)], ids=["tall", "wide", "few columns"])
@pytest.mark.parametrize("rank", [3, 40, 2 * BLOCK])
def test_directions_alone_are_those_of_the_components(shape, rank):
    torch.manual_seed(0)
    a = torch.randn(shape) * 0.97 ** torch.arange(shape[1])
    rank = min(rank, *shape)
    _, whole, mean = components(a, rank)
    alone, same = principal_directions(a.__matmul__, a.T.__matmul__, shape, rank, torch.Generator().manual_seed(0))
    torch.testing.assert_close(same, mean)
    # Where two spreads are alike, their directions may turn within the plane of both; what they span may not.
    torch.testing.assert_close(alone @ (alone.T @ a.T), whole @ (whole.T @ a.T), rtol=0, atol=0.05)
    torch.testing.assert_close(alone[:, :3], whole[:, :3], rtol=0, atol=1e-2)


def test_all_components_of_few_columns_are_exact():
    torch.manual_seed(0)
    a = torch.randn(200, 30)
    scores, directions, mean = components(a, 30)
    torch.testing.assert_close(scores @ directions.T + mean, a, rtol=1e-4, atol=1e-4)
    spread = scores.square().sum(0).sqrt()
    torch.testing.assert_close(spread, torch.linalg.svdvals(a - a.mean(0)), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("interval", [1, 4])
def test_the_iteration_finds_the_leading_eigenvectors(interval):
    torch.manual_seed(0)
    vectors = torch.linalg.qr(torch.randn(200, 200))[0]
    matrix = vectors * torch.cat([torch.tensor([1.0, 0.9, 0.8]), torch.linspace(0.4, 0, 197)]) @ vectors.T
    basis = iterate_subspace(matrix.__matmul__, torch.randn(200, 12), 20, interval)
    torch.testing.assert_close(basis.T @ basis, torch.eye(12), rtol=0, atol=1e-5)
    leading = basis @ leading_rotation(basis.T @ matrix @ basis, basis, 3)
    torch.testing.assert_close((leading.T @ vectors[:, :3]).abs(), torch.eye(3), rtol=0, atol=1e-3)
    assert bool((leading.amax(0) >= -leading.amin(0)).all())


def test_dependent_columns_are_left_out_of_a_basis():
    z = torch.randn(50, 4, generator=torch.Generator().manual_seed(0))
    basis = orthonormalize(torch.cat([z, z @ torch.ones(4, 2)], 1))
    assert basis.shape == (50, 4)
    torch.testing.assert_close(basis @ (basis.T @ z), z)
