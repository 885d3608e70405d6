from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from girl.graph.graph import Graph
from girl.graph.reweighted import ReweightedGraph


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
def test_operators_are_the_dense_ones(case):
    edge_index, n, directed = case
    graph, a = Graph.from_edges(edge_index, n, directed), dense(*case)
    one = torch.eye(n)
    loops = a + one
    scale = loops.sum(1).rsqrt()
    expected = {"sum": a, "mean": a / a.sum(1, keepdim=True).clamp(min=1), "gcn": scale[:, None] * loops * scale}
    for name, matrix in expected.items():
        operator = getattr(graph, name)
        torch.testing.assert_close(operator @ one, matrix)
        torch.testing.assert_close(operator.t_matmul(one), matrix.T.contiguous())


@given(graphs(), st.randoms(use_true_random=False))
def test_subgraph_is_the_submatrix(case, random):
    edge_index, n, directed = case
    graph = Graph.from_edges(edge_index, n, directed)
    nodes = torch.tensor(random.sample(range(n), random.randint(1, n)))
    part = graph.subgraph(nodes)
    torch.testing.assert_close(part.adjacency.to_dense(), dense(*case)[nodes][:, nodes])
    assert part.num_nodes == len(nodes)


@given(graphs(), st.integers(0, 100))
def test_a_drawn_neighbour_is_one_or_the_node_itself(case, seed):
    edge_index, n, directed = case
    graph, a = Graph.from_edges(edge_index, n, directed), dense(*case)
    nodes = torch.arange(n)
    drawn = graph.sample_neighbors(nodes, torch.Generator().manual_seed(seed))
    alone = a.sum(1) == 0
    assert torch.equal(drawn[alone], nodes[alone])
    assert bool((a[nodes, drawn] == 1)[~alone].all())


def test_neighbours_are_drawn_evenly():
    star = torch.tensor([[1, 2, 3, 4], [0, 0, 0, 0]])
    graph = Graph.from_edges(star, 5, directed=True)
    drawn = graph.sample_neighbors(torch.zeros(4000, dtype=torch.long), torch.Generator().manual_seed(0))
    assert (torch.bincount(drawn, minlength=5)[1:] / 4000 - 0.25).abs().max() < 0.03


@given(graphs(), st.floats(0, 1))
def test_dropping_edges_keeps_a_subset_and_the_symmetry(case, share):
    edge_index, n, directed = case
    graph, a = Graph.from_edges(edge_index, n, directed), dense(*case)
    kept = graph.drop_edges(share, torch.Generator().manual_seed(0)).adjacency.to_dense()
    assert bool((kept <= a).all())
    assert graph.symmetric == (not directed)
    if not directed:
        assert torch.equal(kept, kept.T)
    if share == 0:
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
    for operator, matrix in ((graph.sum, a), (graph.mean, mean), (graph.gcn, scale[:, None] * (a + one) * scale)):
        torch.testing.assert_close(operator @ one, matrix)
        torch.testing.assert_close(operator.t_matmul(one), matrix.T.contiguous())
    nodes = torch.arange(n).flip(0)
    torch.testing.assert_close(graph.subgraph(nodes).adjacency.to_dense(), a.flip(0, 1))
    kept = graph.drop_edges(0.0)
    torch.testing.assert_close(kept.adjacency.to_dense(), a)
    drawn = graph.sample_neighbors(torch.arange(n), torch.Generator().manual_seed(0))
    heard = a.sum(1) > 0
    assert bool((a[torch.arange(n), drawn] > 0)[heard].all())
    assert torch.equal(drawn[~heard], torch.arange(n)[~heard])


@given(graphs())
def test_equal_weights_are_none(case):
    edge_index, n, directed = case
    plain = Graph.from_edges(edge_index, n, directed)
    edge_index = plain.edge_index  # every edge once, or an undirected one once in each direction
    weighted = Graph.from_edges(edge_index, n, directed, torch.full((edge_index.shape[1],), 3.0))
    one = torch.eye(n)
    for name in ("sum", "mean", "gcn"):
        torch.testing.assert_close(getattr(weighted, name) @ one, getattr(plain, name) @ one)


def test_neighbours_are_drawn_by_weight():
    star = torch.tensor([[1, 2, 3, 4], [0, 0, 0, 0]])
    weight = torch.tensor([1.0, 2.0, 3.0, 4.0])
    graph = Graph.from_edges(star, 5, directed=True, edge_weight=weight)
    drawn = graph.sample_neighbors(torch.zeros(8000, dtype=torch.long), torch.Generator().manual_seed(0))
    assert (torch.bincount(drawn, minlength=5)[1:] / 8000 - weight / 10).abs().max() < 0.03


def test_smoothing_converges_to_personalised_pagerank():
    torch.manual_seed(0)
    graph = Graph.from_edges(torch.randint(30, (2, 60)), 30)
    x = torch.randn(30, 4)
    operator = graph.gcn @ torch.eye(30)
    exact = 0.2 * torch.linalg.solve(torch.eye(30) - 0.8 * operator, x)
    torch.testing.assert_close(graph.propagate(x, 0.2, 100), exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("directed", [True, False])
def test_moves_and_counts(directed):
    graph = Graph.from_edges(torch.tensor([[0, 1, 1], [1, 2, 2]]), 4, directed)
    assert graph.to("cpu") is graph
    assert graph.edge_index.shape[1] == (2 if directed else 4)
    assert graph.degree.tolist() == ([0, 1, 1, 0] if directed else [1, 2, 1, 0])


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("turned", [True, False])
def test_smoothing_some_rows_is_some_rows_of_smoothing(directed, turned):
    torch.manual_seed(0)
    graph = Graph.from_edges(torch.randint(30, (2, 90)), 30, directed)
    rows = torch.tensor([4, 4, 29, 0])  # one of them twice
    weight = torch.randn(4, 5)
    found = []
    for some in (True, False):
        x = torch.randn(30, 5, generator=torch.Generator().manual_seed(1), requires_grad=True)
        z = (
            graph.propagate(x, 0.2, 4, transpose=turned, rows=rows)
            if some
            else graph.propagate(x, 0.2, 4, transpose=turned)[rows]
        )
        found.append((z, torch.autograd.grad((z * weight).sum(), x)[0]))
    torch.testing.assert_close(found[0], found[1])


@pytest.mark.parametrize("directed", [False, True])
def test_weighed_edges_pass_gradients(directed, monkeypatch):
    monkeypatch.setattr("girl.graph.reweighted.ENTRIES", 5)
    generator = torch.Generator().manual_seed(0)
    graph = Graph.from_edges(torch.randint(12, (2, 20), generator=generator), 12, directed)
    looped = graph.with_self_loops
    draw = torch.rand(looped.num_undirected, generator=generator, requires_grad=True)
    z = torch.randn(12, 3, generator=generator, requires_grad=True)
    weighed = ReweightedGraph(graph, draw[looped.undirected_id])
    dense = torch.zeros(12, 12)
    dense[looped.edge_target, looped.adjacency.col_indices()] = draw[looped.undirected_id]
    dense = dense * graph.gcn.tensor.to_dense()
    torch.testing.assert_close(weighed.gcn @ z, dense @ z)
    some = torch.tensor([5, 0, 11])
    torch.testing.assert_close(weighed.gcn.rows(some) @ z, (dense @ z)[some])
    ours = torch.autograd.grad((weighed.gcn @ z).square().sum(), (draw, z))
    theirs = torch.autograd.grad((dense @ z).square().sum(), (draw, z))
    torch.testing.assert_close(ours, theirs)
    if not directed:
        assert looped.num_undirected == (len(looped.undirected_id) + 12) // 2
