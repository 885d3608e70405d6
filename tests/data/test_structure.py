from __future__ import annotations

import torch

from girl.data.structure import WALK, positional_features, structural_features


def ring(nodes):
    here = torch.arange(nodes)
    there = (here + 1) % nodes
    return torch.cat([torch.stack([here, there]), torch.stack([there, here])], dim=1)


def test_renaming_nodes_renames_rows():
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(30, (2, 120), generator=generator).unique(dim=1)
    order = torch.randperm(30, generator=generator)
    x, moved = structural_features(edges, 30), structural_features(order[edges], 30)
    torch.testing.assert_close(moved[order], x, atol=1e-4, rtol=1e-4)
    assert x.shape == (30, 20)
    torch.testing.assert_close(x.mean(dim=0), torch.zeros(20), atol=1e-5, rtol=0)


def test_nodes_in_the_same_place_are_alike():
    assert structural_features(ring(12), 12).abs().max() < 1e-3


def test_returns_are_powers_of_the_walk():
    from girl.data.structure import _returns

    generator = torch.Generator().manual_seed(1)
    adjacency = (torch.rand(9, 9, generator=generator, dtype=torch.float64) < 0.4).double()
    walk = adjacency / adjacency.sum(dim=1, keepdim=True).clamp(min=1)
    for step, found in zip(range(2, WALK + 1), _returns(adjacency.numpy()), strict=True):
        expected = torch.linalg.matrix_power(walk, step).diagonal()
        torch.testing.assert_close(torch.from_numpy(found), expected)


def test_positions_are_eigenvectors_of_the_normalised_graph():
    edges = torch.randint(40, (2, 150), generator=torch.Generator().manual_seed(0))
    x = positional_features(edges, 40, count=6).double()
    a = torch.zeros(40, 40, dtype=torch.float64)
    a[edges[0], edges[1]] = a[edges[1], edges[0]] = 1
    a.fill_diagonal_(0)
    scale = a.sum(1).clamp(min=1).rsqrt()
    moved = (scale[:, None] * a * scale) @ x
    value = (moved * x).sum(0) / 40
    torch.testing.assert_close(moved, x * value, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(x.T @ x / 40, torch.eye(6, dtype=torch.float64), atol=1e-4, rtol=1e-4)


def test_a_graph_with_fewer_nodes_than_columns():
    assert positional_features(ring(5), 5, count=8)[:, 4:].abs().sum() == 0
