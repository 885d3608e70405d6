from __future__ import annotations

import torch

from girl.graph.graph import Graph
from girl.graph.learned import RIDGE, shared_directions
from girl.graph.propagate import propagate


def noise(n, d, seed=0):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed))


def test_the_first_direction_is_what_neighbours_share():
    """Nodes of a group are joined. One column says the group, the others are a node's own."""
    n = 600
    group = torch.arange(n) % 2
    pairs = torch.randint(n, (2, 20 * n), generator=torch.Generator().manual_seed(1))
    graph = Graph.from_edges(pairs[:, group[pairs[0]] == group[pairs[1]]], n)
    z = torch.cat([2.0 * group[:, None] - 1, noise(n, 5)], 1)
    z = z - z.mean(0)
    w = shared_directions(z, propagate(graph.gcn, z, 0.1, 10))
    assert w[0, 0].abs() > 4 * w[1:, 0].abs().max()
    assert w[:, 1:].norm(dim=0).max() < 0.4 * w[:, 0].norm()  # nothing else is shared as much


def test_directions_solve_the_eigenproblem():
    z = noise(300, 6) @ noise(6, 6, 1)
    z = z - z.mean(0)
    p = noise(300, 300, 2)
    p = p @ p.T / 300  # positive: no direction is left out
    w = shared_directions(z, p @ z).double()
    covariance = (z.T @ z).double() / 300
    ridge = covariance + RIDGE * covariance.trace() / 6 * torch.eye(6).double()
    smoothed = p @ z
    cross = (z.T @ (smoothed - smoothed.mean(0))).double() / 300
    cross = (cross + cross.T) / 2
    norms = (w.T @ ridge @ w).diagonal()
    shared = (w.T @ cross @ w).diagonal() / norms
    torch.testing.assert_close(cross @ w, ridge @ w * shared, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(norms, (shared / shared[0]) ** 2, atol=1e-4, rtol=1e-3)
    assert bool((shared.diff() <= 1e-6).all())


def test_a_rotation_of_the_features_changes_nothing():
    z = noise(200, 5)
    smoothed = z + 0.3 * noise(200, 5, 1)
    rotation = torch.linalg.qr(noise(5, 5, 2))[0]
    first = z @ shared_directions(z, smoothed)
    second = z @ rotation @ shared_directions(z @ rotation, smoothed @ rotation)
    torch.testing.assert_close(first @ first.T, second @ second.T, atol=1e-3, rtol=1e-3)


def test_degenerate_features_give_finite_maps():
    for z in (torch.zeros(4, 3), torch.zeros(0, 3), torch.zeros(5, 0)):
        w = shared_directions(z, z)
        assert w.shape == (z.shape[1], z.shape[1])
        assert not w.any()
