from __future__ import annotations

import numpy as np
import pytest

from girl.lab.random_graph import MAX_DENSITY, random_graph, random_split


@pytest.mark.parametrize(("nodes", "pairs", "classes"), [(2000, 10_000, 7), (400, 15_000, 40), (50, 10**6, 5)])
def test_pairs_are_distinct_and_as_many_as_asked(nodes, pairs, classes):
    graph = random_graph(nodes, pairs, classes, np.random.default_rng(0))
    low, high = graph.pairs
    assert len(low) == min(pairs, int(MAX_DENSITY * nodes * (nodes - 1) / 2))
    assert len(np.unique(low * nodes + high)) == len(low)
    assert (low < high).all()
    assert (low >= 0).all()
    assert (high < nodes).all()
    assert set(graph.labels) == set(range(classes))


def test_degrees_are_skewed_and_edges_homophilic():
    graph = random_graph(20_000, 200_000, 5, np.random.default_rng(0))
    degrees = np.bincount(graph.pairs.ravel(), minlength=20_000)
    assert degrees.max() > 10 * degrees.mean()
    assert 0.6 < (graph.labels[graph.pairs[0]] == graph.labels[graph.pairs[1]]).mean() < 0.85


def test_a_seed_fixes_the_graph():
    one, same, other = (random_graph(300, 900, 3, np.random.default_rng(seed)).pairs for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_split_contains_every_node_once():
    found = random_split(100, (6, 2, 2), np.random.default_rng(0))
    assert [len(part) for part in found] == [60, 20, 20]
    assert sorted(np.concatenate(found)) == list(range(100))
