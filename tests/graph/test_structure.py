from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from girl import datasets
from girl.errors import InputError
from girl.graph.adjacency import build_adjacency
from girl.graph.structure import MAX_STEPS, PROBES, StructureEncoding, positions, roles


def random_edges(n, m, seed=0):
    return torch.randint(n, (2, m), generator=torch.Generator().manual_seed(seed))


@given(st.integers(1, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=30), st.booleans())
@settings(max_examples=50)
def test_any_graph_has_finite_columns(n, pairs, directed):
    edges = torch.tensor([(a % n, b % n) for a, b in pairs], dtype=torch.long).reshape(-1, 2).T
    encoding, x, names = StructureEncoding.fit("both", edges, n, directed, None)
    assert x.shape == (n, len(names))
    assert np.isfinite(x).all()
    assert StructureEncoding.from_dict(encoding.to_dict()) == encoding


def test_returns_are_those_of_random_walks():
    edges = random_edges(60, 150)
    x, names = roles(edges, 60)
    a = build_adjacency(edges, 60).to_dense().double().numpy()
    walk = a / np.maximum(a.sum(axis=1, keepdims=True), 1)
    for steps in range(2, MAX_STEPS + 1):
        exact = np.linalg.matrix_power(walk, steps).diagonal()
        found = x[:, names.index(f"returns after {steps} steps")] ** 2
        # A mean of PROBES products, whose standard deviation is at most √2 of the even return.
        even = np.linalg.matrix_power(walk, steps + steps % 2).diagonal() + exact
        assert np.abs(found - exact).max() <= 5 * np.sqrt(2 / PROBES) * even.max()
    assert np.allclose(x[:, 0], np.log1p(a.sum(axis=1)))


def test_roles_of_small_graphs_of_a_set_are_exact():
    sizes = [1, 5, PROBES, 20]
    starts = np.cumsum([0, *sizes])
    edges = torch.cat([random_edges(n, 3 * n, seed=n) + int(at) for n, at in zip(sizes, starts, strict=False)], 1)
    graph = torch.repeat_interleave(torch.arange(4), torch.tensor(sizes))
    x, names = roles(edges, sum(sizes), graph_id=graph)
    a = build_adjacency(edges, sum(sizes)).to_dense().double().numpy()
    walk = a / np.maximum(a.sum(axis=1, keepdims=True), 1)
    for steps in range(2, MAX_STEPS + 1):
        exact = np.linalg.matrix_power(walk, steps).diagonal()
        assert np.allclose(x[:, names.index(f"returns after {steps} steps")] ** 2, exact, atol=1e-5)


@given(st.lists(st.sampled_from([1, 3, PROBES, PROBES + 1, 90]), min_size=1, max_size=4))
@settings(max_examples=15, deadline=None)
def test_roles_of_a_graph_are_the_same_in_any_set(sizes):
    starts = np.cumsum([0, *sizes])
    parts = [random_edges(n, 2 * n, seed=n) for n in sizes]
    edges = torch.cat([part + int(at) for part, at in zip(parts, starts, strict=False)], 1)
    graph = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    together, _ = roles(edges, sum(sizes), graph_id=graph)
    for n, part, at in zip(sizes, parts, starts, strict=False):
        alone, _ = roles(part, n, graph_id=torch.zeros(n, dtype=torch.long))
        assert np.allclose(together[at : at + n], alone, atol=1e-5)


def test_directions_are_roles_of_their_own():
    edges = torch.tensor([[0, 1, 2], [3, 3, 3]])
    x, names = roles(edges, 4, directed=True)
    assert np.allclose(x[:, names.index("in-degree")], np.log1p([0, 0, 0, 3]))
    assert np.allclose(x[:, names.index("out-degree")], np.log1p([1, 1, 1, 0]))


def blocks(n=120):
    """Three dense groups with a few edges between them."""
    generator = torch.Generator().manual_seed(0)
    pairs = torch.randint(n, (2, 40 * n), generator=generator)
    same = pairs[0] % 3 == pairs[1] % 3
    return pairs[:, same | (torch.rand(40 * n, generator=generator) < 0.03)]


def test_positions_are_eigenvectors_and_tell_groups_apart():
    edges = blocks()
    x = positions(edges, 120, count=2)
    a = build_adjacency(edges, 120).to_dense().double().numpy()
    tau = a.sum(axis=1).mean()
    scale = 1 / np.sqrt(a.sum(axis=1) + tau)
    _, vectors = np.linalg.eigh(scale[:, None] * (a + tau / 120) * scale)
    exact = vectors[:, ::-1][:, 1:3]
    angle = np.linalg.svd(exact.T @ x / np.sqrt(120), compute_uv=False)
    assert angle.min() > 0.999
    assert np.allclose((x**2).mean(axis=0), 1, atol=1e-3)
    centres = np.stack([x[g::3].mean(axis=0) for g in range(3)])
    nearest = np.linalg.norm(x[:, None] - centres, axis=2).argmin(axis=1)
    assert (nearest == np.arange(120) % 3).mean() > 0.95


def test_small_components_do_not_take_the_positions():
    pairs = torch.arange(120, 320).reshape(2, 100)  # a hundred pairs beside the three groups
    x = positions(torch.cat([blocks(), pairs], dim=1), 320, count=2)
    assert (x[:120] ** 2).sum() > 0.9 * (x**2).sum()


def test_a_graph_with_fewer_nodes_than_positions():
    x = positions(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]), 5, count=8)
    assert x.shape == (5, 8)
    assert np.abs(x[:, 5:]).sum() == 0


def test_roles_carry_over_to_another_graph_and_positions_do_not():
    encoding, x, _ = StructureEncoding.fit("roles", random_edges(50, 200), 50, False, None)
    assert np.allclose(encoding.apply(random_edges(50, 200), 50, False), x, atol=1e-5)
    assert encoding.apply(random_edges(70, 300, seed=1), 70, False).shape == (70, x.shape[1])
    with pytest.raises(InputError, match="other kind"):
        encoding.apply(random_edges(50, 200), 50, True)
    both, _, _ = StructureEncoding.fit("both", random_edges(50, 200), 50, False, None)
    with pytest.raises(InputError, match="--structure roles"):
        both.apply(random_edges(50, 200), 50, False)
    with pytest.raises(InputError, match="expected roles"):
        StructureEncoding.fit("auto", random_edges(50, 200), 50, False, None)


def test_a_large_graph_needs_no_dense_matrix():
    edges = random_edges(100_000, 300_000)
    x = positions(edges, 100_000, count=4)
    assert x.nbytes == 4 * 4 * 100_000


def test_every_structural_column_of_the_airports_says_something(mirror, cache):
    x = datasets.load("usa-airports-structural", cache, mirror).data.x
    assert x.shape == (1190, 41)
    assert (x.std(dim=0) > 0.5).all()
