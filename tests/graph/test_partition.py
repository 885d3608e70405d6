from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from girl.errors import InputError
from girl.graph import partition as clusters
from girl.graph.graph import Graph
from girl.graph.partition import nodes_by_part, partition


@given(st.integers(1, 40), st.integers(0, 60), st.integers(1, 45), st.booleans())
def test_every_node_is_in_one_part_and_no_part_is_empty(n, edges, parts, directed):
    edge_index = torch.randint(n, (2, edges), generator=torch.Generator().manual_seed(edges))
    found = nodes_by_part(partition(Graph.from_edges(edge_index, n, directed), parts))
    assert torch.equal(torch.cat(found).sort().values, torch.arange(n))
    assert all(len(part) for part in found)
    assert len(found) <= parts or n <= parts


def test_cliques_are_found_and_the_same_seed_gives_the_same_parts():
    clique = torch.combinations(torch.arange(20)).T
    graph = Graph.from_edges(torch.cat([clique + 20 * k for k in range(4)], 1), 80)
    part = partition(graph, 4)
    assert all(len(set(part[20 * k : 20 * k + 20].tolist())) == 1 for k in range(4))
    assert torch.equal(part, partition(graph, 4))


def test_zero_parts_are_refused():
    with pytest.raises(InputError, match="clusters"):
        partition(Graph.from_edges(torch.zeros(2, 0, dtype=torch.long), 3), 0)


def test_a_cut_is_kept_and_read_again_and_a_damaged_one_is_made_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "MIN_CACHED_NODES", 10)
    graph = Graph.from_edges(torch.randint(60, (2, 200), generator=torch.Generator().manual_seed(0)), 60)
    first = clusters.cached_partition(graph, 4, 0, tmp_path)
    assert torch.equal(first, partition(graph, 4, 0))
    (kept,) = tmp_path.iterdir()
    monkeypatch.setattr(clusters, "partition", lambda *a: pytest.fail("cut again"))
    assert torch.equal(clusters.cached_partition(graph, 4, 0, tmp_path), first)
    monkeypatch.undo()
    monkeypatch.setattr(clusters, "MIN_CACHED_NODES", 10)
    other = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]), 60)
    clusters.cached_partition(other, 4, 0, tmp_path)
    clusters.cached_partition(graph, 5, 0, tmp_path)
    assert len(list(tmp_path.iterdir())) == 3  # another graph, another number of parts
    for damage in (b"", kept.read_bytes()[:-7], b"not an array"):
        kept.write_bytes(damage)
        with pytest.warns(UserWarning, match="made again"):
            assert torch.equal(clusters.cached_partition(graph, 4, 0, tmp_path), first)


def test_a_cut_that_cannot_be_kept_is_used_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "MIN_CACHED_NODES", 10)
    graph = Graph.from_edges(torch.randint(60, (2, 200), generator=torch.Generator().manual_seed(0)), 60)
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(UserWarning, match="could not be cached"):
        found = clusters.cached_partition(graph, 4, 0, tmp_path / "file" / "folder")
    assert torch.equal(found, partition(graph, 4, 0))


@given(st.integers(2, 60), st.integers(1, 400), st.integers(1, 500), st.integers(0, 9))
def test_sampled_entries_are_a_symmetric_part_of_the_matrix(n, edges, most, seed):
    edge_index = torch.randint(n, (2, edges), generator=torch.Generator().manual_seed(seed))
    whole = Graph.from_edges(edge_index, n).adjacency
    dense = whole.to_dense().numpy() > 0
    if not dense.any():
        return
    crow, col = clusters.sample_entries(whole.crow_indices().numpy(), whole.col_indices().numpy(), most)
    found = sparse.csr_matrix((np.ones(len(col)), col, crow), shape=(n, n)).toarray() > 0
    assert not (found & ~dense).any()
    assert (found == found.T).all()
    if most >= dense.sum():
        assert (found == dense).all()


def test_a_sample_has_the_wanted_size_and_leaves_no_node_isolated(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    # Degrees from 1 to a thousand: a hub for each leaf, and a dense core.
    core = torch.randint(2000, (2, 60_000), generator=generator)
    leaves = torch.stack([torch.arange(2000, 4000), torch.randint(50, (2000,), generator=generator)])
    whole = Graph.from_edges(torch.cat([core, leaves], 1), 4000).adjacency
    crow, col = whole.crow_indices().numpy(), whole.col_indices().numpy()
    for most in (20_000, 60_000):
        monkeypatch.setattr(clusters, "ROWS", 300)
        few, kept = clusters.sample_entries(crow, col, most)
        assert len(kept) == pytest.approx(most, rel=0.03)
        assert (np.diff(few)[2000:] == np.diff(crow)[2000:]).all()
        assert np.diff(few).min() > 0
        monkeypatch.setattr(clusters, "ROWS", 1 << 16)
        again = clusters.sample_entries(crow, col, most)
        assert np.array_equal(again[0], few)
        assert np.array_equal(again[1], kept)


def test_cliques_are_found_in_a_sample_of_the_edges(monkeypatch):
    clique = torch.combinations(torch.arange(60)).T
    graph = Graph.from_edges(torch.cat([clique + 60 * k for k in range(4)], 1), 240)
    monkeypatch.setattr(clusters, "MAX_ENTRIES", graph.adjacency.values().numel() // 3)
    part = partition(graph, 4)
    assert all(len(set(part[60 * k : 60 * k + 60].tolist())) == 1 for k in range(4))


def test_the_hash_of_a_pair_is_symmetric_and_that_of_splitmix64():
    u, v = np.array([0, 5, 123_456]), np.array([1, 5, 2**31])
    assert np.array_equal(clusters.pair_hash(u, v), clusters.pair_hash(v, u))
    for low, high, value in zip(u.tolist(), v.tolist(), clusters.pair_hash(u, v), strict=True):
        z = ((low << 32) + high + 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        assert value == ((z ^ (z >> 31)) >> 11) / 2**53


@pytest.mark.parametrize("neighbors", ["of one node", "consecutive", "all pairs"])
def test_the_hash_of_pairs_is_uniform(neighbors):
    n = 40_000
    u, v = {
        "of one node": (np.zeros(n, np.int64), np.arange(1, n + 1)),
        "consecutive": (np.arange(n), np.arange(1, n + 1)),
        "all pairs": np.triu_indices(283, 1),
    }[neighbors]
    value = clusters.pair_hash(u, v)
    assert 0 <= value.min() < value.max() < 1
    count = np.histogram(value, 100, (0, 1))[0]
    assert scipy.stats.chisquare(count).pvalue > 1e-4
    assert abs(np.corrcoef(value[:-1], value[1:])[0, 1]) < 0.03
