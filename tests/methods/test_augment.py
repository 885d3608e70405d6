from __future__ import annotations

import torch

from girl.methods.augment import corrupted, drawn, view


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_corruption_shuffles_rows_and_leaves_edges(graph_and_labels):
    whole, _ = graph_and_labels
    found = corrupted(whole, seeded())
    assert found.graph is whole.graph
    before, after = whole.x.dense(), found.x.dense()
    assert not torch.equal(before, after)
    torch.testing.assert_close(after.sum(0), before.sum(0))
    order = torch.randperm(whole.num_nodes, generator=seeded())
    torch.testing.assert_close(after, before[order])


def test_a_view_lacks_columns_and_edges(graph_and_labels):
    whole, _ = graph_and_labels
    found = view(whole, 0.5, 0.3, seeded())
    before, after = whole.x.dense(), found.x.dense()
    hidden = (after == 0).all(0) & (before != 0).any(0)
    assert 0 < hidden.sum() < before.shape[1]
    torch.testing.assert_close(after[:, ~hidden], before[:, ~hidden])
    edges = found.graph.adjacency.to_dense()
    assert torch.equal(edges, edges.T)
    assert 0.5 < edges.sum() / whole.graph.adjacency.to_dense().sum() < 0.9
    same = view(whole, 0.0, 0.0, seeded())
    assert same.x is whole.x
    assert same.graph is whole.graph


def test_drawn_nodes_are_distinct_or_all(graph_and_labels):
    whole, _ = graph_and_labels
    assert drawn(whole, 0, seeded()) is None
    assert drawn(whole, whole.num_nodes, seeded()) is None
    assert len(drawn(whole, 50, seeded()).unique()) == 50
