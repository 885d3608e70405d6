from __future__ import annotations

import pytest
import torch

from girl.errors import InputError
from girl.methods.augment import AUGMENTATIONS, augment, graph_index, random_view, sample_nodes, shuffle_features
from tests.helpers.methods import seeded


def test_shuffling_permutes_rows_and_keeps_edges(data):
    shuffled = shuffle_features(data, seeded())
    assert shuffled.graph is data.graph
    before, after = data.x.dense(), shuffled.x.dense()
    assert not torch.equal(before, after)
    torch.testing.assert_close(after, before[torch.randperm(data.num_nodes, generator=seeded())])


def test_a_view_lacks_columns_and_edges(data):
    view = random_view(data, 0.5, 0.3, seeded())
    before, after = data.x.dense(), view.x.dense()
    hidden = (after == 0).all(0) & (before != 0).any(0)
    assert 0 < hidden.sum() < before.shape[1]
    torch.testing.assert_close(after[:, ~hidden], before[:, ~hidden])
    edges = view.graph.adjacency.to_dense()
    assert torch.equal(edges, edges.T)
    assert 0.5 < edges.sum() / data.graph.adjacency.to_dense().sum() < 0.9
    same = random_view(data, 0.0, 0.0, seeded())
    assert same.x is data.x
    assert same.graph is data.graph


def test_sampled_nodes_are_distinct_or_all(data):
    assert sample_nodes(data, 0, seeded()) is None
    assert sample_nodes(data, data.num_nodes, seeded()) is None
    assert len(sample_nodes(data, 50, seeded()).unique()) == 50


def test_one_graph_is_not_a_set(data, graphs):
    assert graph_index(graphs) is graphs.graph_id
    with pytest.raises(InputError, match="expected a set of graphs"):
        graph_index(data)


def choice_of(graphs, name):
    return torch.full((graphs.num_graphs,), AUGMENTATIONS.index(name))


def test_nodes_are_removed_from_the_chosen_graph_only(graphs):
    choice = choice_of(graphs, "identity")
    choice[4] = AUGMENTATIONS.index("nodes")
    view = augment(graphs, choice, 0.5, 0.2, seeded())
    before = torch.bincount(graphs.graph_id)
    after = torch.bincount(view.graph_id, minlength=graphs.num_graphs)
    expected = before.clone()
    expected[4] -= before[4] // 2
    assert torch.equal(after, expected)


def test_edges_are_removed_in_both_directions_from_the_chosen_graphs_only(graphs):
    choice = choice_of(graphs, "identity")
    choice[::3] = AUGMENTATIONS.index("edges")
    view = augment(graphs, choice, 0.5, 0.2, seeded())
    after, before = view.graph.adjacency.to_dense(), graphs.graph.adjacency.to_dense()
    assert torch.equal(after, after.T)
    changed = graphs.graph_id[(after != before).any(1)].unique()
    assert len(changed)
    assert (changed % 3 == 0).all()
    assert view.num_nodes == graphs.num_nodes


def test_a_subgraph_is_connected_and_of_the_given_size(graphs):
    view = augment(graphs, choice_of(graphs, "subgraph"), 0.1, 0.5, seeded())
    sizes = torch.bincount(view.graph_id)
    assert torch.equal(sizes, (torch.bincount(graphs.graph_id) // 2).clamp(min=1))
    # In a ring or a path, connected nodes have one edge less than nodes.
    edges = torch.bincount(view.graph_id[view.graph.edge_target], minlength=graphs.num_graphs) // 2
    assert torch.equal(edges, sizes - 1)


def test_features_become_noise_at_some_nodes(graphs):
    view = augment(graphs, choice_of(graphs, "features"), 0.5, 0.2, seeded())
    changed = (view.x.dense() != graphs.x.dense()).any(1)
    sizes = torch.bincount(graphs.graph_id)
    assert torch.equal(torch.bincount(graphs.graph_id[changed], minlength=graphs.num_graphs), sizes // 2)


def test_identity_changes_nothing(graphs):
    same = augment(graphs, choice_of(graphs, "identity"), 0.5, 0.2, seeded())
    assert same.x is graphs.x
    assert same.graph is graphs.graph
