from __future__ import annotations

import pytest
import torch

from girl.graph import reweighted
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.graph.reweighted import ReweightedFeatures, ReweightedGraph, ReweightedMatrix
from tests.helpers.samples import seeded


@pytest.fixture(params=[False, True], ids=["undirected", "directed"])
def problem(request, monkeypatch):
    """A graph, a weight for each of its edges and self-loops, and both as a dense matrix."""
    monkeypatch.setattr(reweighted, "ENTRIES", 5)
    graph = Graph.from_edges(torch.randint(12, (2, 20), generator=seeded()), 12, request.param)
    looped = graph.with_self_loops
    weight = torch.rand(looped.num_undirected, generator=seeded(1), requires_grad=True)
    dense = torch.zeros(12, 12)
    dense[looped.edge_target, looped.adjacency.col_indices()] = weight[looped.undirected_id]
    return graph, weight, weight[looped.undirected_id], dense * graph.gcn.tensor.to_dense()


def check(ours, theirs, inputs):
    torch.testing.assert_close(ours, theirs)
    found, expected = (torch.autograd.grad(y.square().sum(), inputs, retain_graph=True) for y in (ours, theirs))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("rows", [None, [5, 0, 11, 5]])
def test_products_and_gradients_are_those_of_the_dense_matrix(problem, rows):
    graph, weight, entries, dense = problem
    z = torch.randn(12, 3, generator=seeded(2), requires_grad=True)
    matrix = ReweightedMatrix(graph.gcn, entries)
    assert matrix.shape == (12, 12)
    index = torch.arange(12) if rows is None else torch.tensor(rows)
    matrix = matrix if rows is None else matrix.rows(index)
    assert matrix.shape == (len(index), 12)
    check(matrix @ z, (dense @ z)[index], (weight, z))


def test_a_graph_has_the_weights_in_its_gcn_matrix_and_in_propagation(problem):
    graph, weight, entries, dense = problem
    z = torch.randn(12, 3, generator=seeded(2), requires_grad=True)
    heavy = ReweightedGraph(graph, entries)
    assert (heavy.num_nodes, heavy.device) == (12, graph.device)
    check(heavy.gcn @ z, dense @ z, (weight, z))
    step = 0.3 * z + 0.7 * dense @ z
    check(heavy.propagate(z, 0.3, 1), step, (weight, z))


@pytest.mark.parametrize("name", ["sum", "mean", "with_self_loops", "adjacency", "subgraph", "edge_index", "rows"])
def test_a_graph_has_nothing_that_would_ignore_the_weights(problem, name):
    graph, _, entries, _ = problem
    assert not hasattr(ReweightedGraph(graph, entries), name)


@pytest.mark.parametrize("name", ["t_matmul", "tensor", "values", "with_values", "transpose", "product"])
def test_a_matrix_has_nothing_that_would_ignore_the_weights(problem, name):
    graph, _, entries, _ = problem
    assert not hasattr(ReweightedMatrix(graph.gcn, entries), name)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("rows", [None, [3, 29, 3]])
def test_features_are_multiplied_by_the_weights_of_their_columns(sparse, rows):
    x = torch.randn(30, 12, generator=seeded()) * (torch.rand(30, 12, generator=seeded(1)) < 0.3)
    weight = torch.rand(12, generator=seeded(2), requires_grad=True)
    w = torch.randn(12, 5, generator=seeded(3), requires_grad=True)
    features = ReweightedFeatures(NodeFeatures.from_tensor(x.to_sparse_csr() if sparse else x), weight)
    index = torch.arange(30) if rows is None else torch.tensor(rows)
    features = features if rows is None else features.rows(index)
    assert features.shape == (len(index), 12)
    check(features @ w, ((x * weight) @ w)[index], (weight, w))


@pytest.mark.parametrize("name", ["t_matmul", "dense", "aggregate", "dropout", "mask_rows", "sparse", "tensors"])
def test_features_have_nothing_that_would_ignore_the_weights(name):
    assert not hasattr(ReweightedFeatures(NodeFeatures(dense=torch.ones(2, 2)), torch.ones(2)), name)
