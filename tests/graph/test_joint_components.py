from __future__ import annotations

import torch

from girl.graph.graph import Graph
from girl.graph.joint_components import joint_directions
from girl.graph.node_features import NodeFeatures


def setup(d, n=150):
    generator = torch.Generator().manual_seed(0)
    graph = Graph.from_edges(torch.randint(n, (2, 3 * n), generator=generator), n)
    x = torch.randn(n, d, generator=generator) * torch.linspace(3, 0.1, d) + 2
    return NodeFeatures.from_tensor(x), graph


def test_directions_are_orthonormal_and_hold_the_variance():
    x, graph = setup(60)
    directions, mean = joint_directions(x, graph, 20, torch.Generator().manual_seed(1))
    torch.testing.assert_close(directions.T @ directions, torch.eye(20), atol=1e-4, rtol=0)
    torch.testing.assert_close(mean, x.dense().mean(0), atol=1e-5, rtol=1e-5)
    centered = x.dense() - mean
    for features in (centered, graph.gcn @ centered):
        kept = (features @ directions).square().sum() / features.square().sum()
        best = torch.linalg.svdvals(features)[:20].square().sum() / features.square().sum()
        assert kept > 0.93 * best


def test_few_columns_stay_as_they_are():
    x, graph = setup(10)
    directions, _ = joint_directions(x, graph, 10, torch.Generator())
    assert torch.equal(directions, torch.eye(10))


def test_a_graph_with_fewer_nodes_than_directions_has_zeros():
    x, graph = setup(60, n=12)
    directions, _ = joint_directions(x, graph, 20, torch.Generator())
    assert directions.shape == (60, 20)
    assert directions.isfinite().all()
    assert not directions[:, 12:].any()
