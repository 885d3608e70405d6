from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from girl.evaluation import neighborhood as likeness
from girl.evaluation.neighborhood import Cosines, auc, neighbourhoods
from girl.evaluation.quality import measure


def noise(n: int, d: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed))


def random_edges(n: int, m: int) -> torch.Tensor:
    return torch.randint(0, n, (2, m), generator=torch.Generator().manual_seed(0))


def test_two_hops_are_neighbours_of_neighbours():
    """On a long path whose places are its embedding, the nearest two of an inner node are its neighbours."""
    n = 200
    place = torch.arange(n) * 2 * math.pi / (4 * n)
    h = torch.stack([place.cos(), place.sin(), torch.zeros(n)], 1)
    edges = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
    near = neighbourhoods(edges, n)
    one, two = likeness._within(near, np.array([50, 50, 50]), np.array([[49, 52], [53, 50], [48, 51]]))
    assert one.tolist() == [[True, False], [False, False], [False, True]]
    assert two.tolist() == [[True, True], [False, True], [True, True]]
    assert measure(h, edges).likeness[0].one_hop > 0.9


@pytest.mark.parametrize("far", [0.0, 50.0])
def test_sparse_rows_are_measured_as_dense_ones(far):
    h = noise(150, 30).relu() + far * (torch.arange(30) == 3)
    sparse = h.to_sparse_csr()
    some = np.arange(0, 150, 3)
    assert Cosines(sparse).pairs(some, some + 1) == pytest.approx(Cosines(h).pairs(some, some + 1), abs=1e-3)
    one, two = (Cosines(x).nearest(some, 5) for x in (h, sparse))
    assert one[1] == pytest.approx(two[1], abs=1e-3)
    edges = random_edges(150, 300)
    rows = [measure(h, edges, features=x).likeness[0].links for x in (h, sparse)]
    assert rows[0] == pytest.approx(rows[1], abs=1e-3)


def test_the_nearest_are_found_over_all_blocks_and_never_the_node_itself():
    h = noise(9000, 3)
    nodes = np.array([0, 8500])
    who, how = Cosines(h).nearest(nodes, 4)
    centred = torch.nn.functional.normalize(h - h.mean(0))
    full = centred[nodes] @ centred.T
    full[torch.arange(2), torch.from_numpy(nodes)] = -2
    assert how == pytest.approx(full.topk(4).values.numpy(), abs=1e-5)
    assert not (who == nodes[:, None]).any()


def test_auc_counts_ties_half():
    assert auc(np.array([2.0, 3.0]), np.array([0.0, 1.0])) == 1
    assert auc(np.array([1.0, 1.0]), np.array([1.0, 1.0])) == 0.5
    assert auc(np.array([0.0]), np.array([1.0, -1.0, 0.0])) == 0.5


def test_directions_loops_and_repetitions_do_not_count():
    joined = neighbourhoods(np.array([[0, 1, 0, 2, 0], [1, 0, 1, 2, 2]]), 4)
    assert joined.toarray().tolist() == [[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]


def test_non_edges_are_none_on_small_and_large_graphs():
    for n in (50, 3000):
        joined = neighbourhoods(random_edges(n, 5 * n), n)
        one, other = likeness._non_edges(joined, np.random.default_rng(0))
        assert len(one)
        assert (one != other).all()
        assert not np.asarray(joined[one, other]).any()


def test_costs_are_linear_in_the_nodes(monkeypatch):
    """Draws, not all pairs: what is compared does not grow with the square of the nodes."""
    counted = []
    block = Cosines.block
    monkeypatch.setattr(Cosines, "block", lambda self, a, b: (counted.append(len(a) * len(b)), block(self, a, b))[1])
    for n in (10_000, 20_000):
        counted.append(0)
        measure(noise(n, 2), random_edges(n, 2 * n))
    first = counted.index(0, 1)
    assert sum(counted[first:]) == 2 * sum(counted[:first])
