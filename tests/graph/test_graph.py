from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from girl.graph.graph import Graph


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 12))
    edges = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30))
    edge_index = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T
    return edge_index, n, draw(st.booleans())


def dense(edge_index, n, directed):
    a = torch.zeros(n, n)
    a[edge_index[1], edge_index[0]] = 1
    if not directed:
        a = torch.maximum(a, a.T)
    return a.fill_diagonal_(0)


@given(graphs())
def test_sum_mean_and_gcn_are_the_dense_matrices(case):
    edge_index, n, directed = case
    graph, a = Graph.from_edges(edge_index, n, directed), dense(*case)
    one = torch.eye(n)
    loops = a + one
    scale = loops.sum(1).rsqrt()
    expected = {"sum": a, "mean": a / a.sum(1, keepdim=True).clamp(min=1), "gcn": scale[:, None] * loops * scale}
    for name, matrix in expected.items():
        ours = getattr(graph, name)
        torch.testing.assert_close(ours @ one, matrix)
        torch.testing.assert_close(ours.t_matmul(one), matrix.T.contiguous())


@given(graphs(), st.randoms(use_true_random=False))
def test_subgraph_is_the_submatrix(case, random):
    edge_index, n, directed = case
    graph = Graph.from_edges(edge_index, n, directed)
    nodes = torch.tensor(random.sample(range(n), random.randint(1, n)))
    part = graph.subgraph(nodes)
    torch.testing.assert_close(part.adjacency.to_dense(), dense(*case)[nodes][:, nodes])
    assert part.num_nodes == len(nodes)


@given(graphs(), st.integers(0, 100))
def test_a_sampled_neighbor_is_a_neighbor_or_the_node_itself(case, seed):
    edge_index, n, directed = case
    graph, a = Graph.from_edges(edge_index, n, directed), dense(*case)
    nodes = torch.arange(n)
    drawn = graph.sample_neighbors(nodes, torch.Generator().manual_seed(seed))
    alone = a.sum(1) == 0
    assert torch.equal(drawn[alone], nodes[alone])
    assert bool((a[nodes, drawn] == 1)[~alone].all())


def test_neighbors_are_sampled_uniformly():
    star = torch.tensor([[1, 2, 3, 4], [0, 0, 0, 0]])
    graph = Graph.from_edges(star, 5, directed=True)
    drawn = graph.sample_neighbors(torch.zeros(4000, dtype=torch.long), torch.Generator().manual_seed(0))
    assert (torch.bincount(drawn, minlength=5)[1:] / 4000 - 0.25).abs().max() < 0.03


@given(graphs(), st.floats(0, 1))
def test_dropping_edges_keeps_a_subset_and_the_symmetry(case, rate):
    edge_index, n, directed = case
    graph, a = Graph.from_edges(edge_index, n, directed), dense(*case)
    kept = graph.drop_edges(rate, torch.Generator().manual_seed(0)).adjacency.to_dense()
    assert bool((kept <= a).all())
    assert graph.symmetric == (not directed)
    if not directed:
        assert torch.equal(kept, kept.T)
    if rate == 0:
        assert torch.equal(kept, a)


@given(graphs(), st.data())
def test_a_weighted_graph_is_the_dense_matrix_of_weights(case, data):
    edge_index, n, directed = case
    m = edge_index.shape[1]
    weight = torch.tensor(data.draw(st.lists(st.floats(0.1, 10), min_size=m, max_size=m)))
    a = torch.zeros(n, n)
    for (i, j), w in zip(edge_index.T.tolist(), weight.tolist(), strict=True):
        a[j, i] += w
    a = (a if directed else a + a.T).fill_diagonal_(0)
    if (a > 0).any():
        a = a / a[a > 0].mean()
    one = torch.eye(n)
    scale = (a + one).sum(1).rsqrt()
    # The unit of the weights does not matter.
    graph = Graph.from_edges(edge_index, n, directed, 1000 * weight)
    mean = a / torch.where(a.sum(1, keepdim=True) > 0, a.sum(1, keepdim=True), 1)
    for ours, dense_matrix in ((graph.sum, a), (graph.mean, mean), (graph.gcn, scale[:, None] * (a + one) * scale)):
        torch.testing.assert_close(ours @ one, dense_matrix)
        torch.testing.assert_close(ours.t_matmul(one), dense_matrix.T.contiguous())
    nodes = torch.arange(n).flip(0)
    torch.testing.assert_close(graph.subgraph(nodes).adjacency.to_dense(), a.flip(0, 1))
    kept = graph.drop_edges(0.0)
    torch.testing.assert_close(kept.adjacency.to_dense(), a)
    drawn = graph.sample_neighbors(torch.arange(n), torch.Generator().manual_seed(0))
    connected = a.sum(1) > 0
    assert bool((a[torch.arange(n), drawn] > 0)[connected].all())
    assert torch.equal(drawn[~connected], torch.arange(n)[~connected])


@given(graphs())
def test_equal_weights_are_the_same_as_none(case):
    edge_index, n, directed = case
    plain = Graph.from_edges(edge_index, n, directed)
    edge_index = plain.edge_index  # every edge once, or an undirected one once in each direction
    weighted = Graph.from_edges(edge_index, n, directed, torch.full((edge_index.shape[1],), 3.0))
    one = torch.eye(n)
    for name in ("sum", "mean", "gcn"):
        torch.testing.assert_close(getattr(weighted, name) @ one, getattr(plain, name) @ one)


def test_neighbors_are_sampled_by_weight():
    star = torch.tensor([[1, 2, 3, 4], [0, 0, 0, 0]])
    weight = torch.tensor([1.0, 2.0, 3.0, 4.0])
    graph = Graph.from_edges(star, 5, directed=True, edge_weight=weight)
    drawn = graph.sample_neighbors(torch.zeros(8000, dtype=torch.long), torch.Generator().manual_seed(0))
    assert (torch.bincount(drawn, minlength=5)[1:] / 8000 - weight / 10).abs().max() < 0.03


@pytest.mark.parametrize("directed", [True, False])
def test_degrees_and_edges_of_a_small_graph(directed):
    graph = Graph.from_edges(torch.tensor([[0, 1, 1], [1, 2, 2]]), 4, directed)
    assert graph.to("cpu") is graph
    assert graph.edge_index.shape[1] == (2 if directed else 4)
    assert graph.degree.tolist() == ([0, 1, 1, 0] if directed else [1, 2, 1, 0])


@given(graphs())
def test_self_loops_and_directions_are_added(case):
    edge_index, n, directed = case
    graph, a = Graph.from_edges(edge_index, n, directed), dense(*case)
    assert torch.equal(graph.with_self_loops.adjacency.to_dense(), a + torch.eye(n))
    assert torch.equal(graph.undirected().adjacency.to_dense(), torch.maximum(a, a.T))


@given(graphs())
def test_both_directions_of_an_undirected_edge_have_one_number(case):
    edge_index, n, directed = case
    graph = Graph.from_edges(edge_index, n, directed)
    pairs = {}
    for number, (i, j) in zip(graph.undirected_id.tolist(), graph.edge_index.T.tolist(), strict=True):
        key = (i, j) if directed else (min(i, j), max(i, j))
        assert pairs.setdefault(key, number) == number
    assert sorted(pairs.values()) == list(range(graph.num_undirected))
