from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from girl.evaluation.neighborhood import CosineSimilarity, _non_edges, _within, neighbourhoods, score_neighborhoods
from girl.evaluation.quality import measure


def noise(n: int, d: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed))


def random_edges(n: int, m: int) -> torch.Tensor:
    return torch.randint(0, n, (2, m), generator=torch.Generator().manual_seed(0))


def test_two_hops_are_neighbours_of_neighbours():
    """Nodes of a path on a quarter circle: the two nearest of an inner node are its neighbours."""
    n = 200
    angle = torch.arange(n) * 2 * math.pi / (4 * n)
    h = torch.stack([angle.cos(), angle.sin(), torch.zeros(n)], 1)
    edges = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
    adjacency = neighbourhoods(edges, n)
    one, two = _within(adjacency, np.array([50, 50, 50]), np.array([[49, 52], [53, 50], [48, 51]]))
    assert one.tolist() == [[True, False], [False, False], [False, True]]
    assert two.tolist() == [[True, True], [False, True], [True, True]]
    assert measure(h, edges).neighborhood[0].one_hop > 0.9


@pytest.mark.parametrize("offset", [0.0, 50.0])
def test_sparse_and_dense_rows_give_the_same_scores(offset):
    h = noise(150, 30).relu() + offset * (torch.arange(30) == 3)
    sparse = h.to_sparse_csr()
    nodes = np.arange(0, 150, 3)
    assert CosineSimilarity(sparse).pairs(nodes, nodes + 1) == pytest.approx(
        CosineSimilarity(h).pairs(nodes, nodes + 1), abs=1e-3
    )
    one, two = (CosineSimilarity(x).nearest(nodes, 5) for x in (h, sparse))
    assert one[1] == pytest.approx(two[1], abs=1e-3)
    edges = random_edges(150, 300)
    rows = [measure(h, edges, features=x).neighborhood[0].link_auc for x in (h, sparse)]
    assert rows[0] == pytest.approx(rows[1], abs=1e-3)


def test_the_nearest_are_found_in_all_blocks_and_exclude_the_node_itself():
    h = noise(9000, 3)
    nodes = np.array([0, 8500])
    nearest, similarity = CosineSimilarity(h).nearest(nodes, 4)
    centered = torch.nn.functional.normalize(h - h.mean(0))
    full = centered[nodes] @ centered.T
    full[torch.arange(2), torch.from_numpy(nodes)] = -2
    assert similarity == pytest.approx(full.topk(4).values.numpy(), abs=1e-5)
    assert not (nearest == nodes[:, None]).any()


def test_directions_self_loops_and_duplicates_do_not_matter():
    adjacency = neighbourhoods(np.array([[0, 1, 0, 2, 0], [1, 0, 1, 2, 2]]), 4)
    assert adjacency.toarray().tolist() == [[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]


def test_non_edges_are_never_edges_of_small_or_large_graphs():
    for n in (50, 3000):
        adjacency = neighbourhoods(random_edges(n, 5 * n), n)
        source, target = _non_edges(adjacency, np.random.default_rng(0))
        assert len(source)
        assert (source != target).all()
        assert not np.asarray(adjacency[source, target]).any()


def test_costs_are_linear_in_the_nodes(monkeypatch):
    """Pairs are sampled: their number does not grow with the square of the number of nodes."""
    counted = []
    matrix = CosineSimilarity.matrix
    monkeypatch.setattr(
        CosineSimilarity, "matrix", lambda self, a, b: (counted.append(len(a) * len(b)), matrix(self, a, b))[1]
    )
    for n in (10_000, 20_000):
        counted.append(0)
        measure(noise(n, 2), random_edges(n, 2 * n))
    first = counted.index(0, 1)
    assert sum(counted[first:]) == 2 * sum(counted[:first])


def test_scores_do_not_depend_on_the_order_of_equal_rows():
    """Of rows that are all equal no node is nearest: neighbours are found as often as by chance."""
    edges = random_edges(400, 2000)
    scores, chance = score_neighborhoods({"equal": torch.ones(400, 3)}, neighbourhoods(edges, 400))
    assert scores[0].link_auc == chance.link_auc == 0.5
    assert scores[0].one_hop == pytest.approx(chance.one_hop, abs=0.02)
