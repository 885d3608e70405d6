from __future__ import annotations

import torch

from girl.graph.batch import Batch
from girl.graph.graph import Graph
from girl.graph.hidden_region import distances, hide_regions, sample_graphs
from girl.graph.node_features import NodeFeatures
from tests.methods.conftest import molecules


def test_the_two_regions_share_no_node_and_are_halves():
    data, _ = molecules()
    visible, hidden = hide_regions(data, torch.Generator().manual_seed(0))
    nodes = torch.cat([visible.node_id, hidden.node_id])
    assert torch.equal(nodes.sort().values, torch.arange(data.num_nodes))
    sizes = torch.bincount(data.graph_id)
    assert torch.equal(torch.bincount(visible.graph_id, minlength=24), (sizes + 1) // 2)
    assert visible.num_graphs == hidden.num_graphs == 24


def test_the_visible_region_of_a_path_is_connected():
    n = 20
    path = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
    data = Batch(NodeFeatures.from_tensor(torch.ones(n, 1)), Graph.from_edges(path, n), None, torch.zeros(n).long(), 1)
    visible, _ = hide_regions(data, torch.Generator().manual_seed(3))
    assert torch.equal(visible.node_id.diff(), torch.ones(9).long())


def test_distances_of_what_cannot_be_reached_are_largest():
    graph = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]), 4)
    data = Batch(NodeFeatures.from_tensor(torch.ones(4, 1)), graph, None, torch.zeros(4).long(), 1)
    assert distances(data, torch.tensor([0])).tolist() == [0, 1, 2, 65]


def test_samples_have_graphs_of_two_or_more_nodes():
    graph = Graph.from_edges(torch.tensor([[1, 4], [2, 5]]), 6)
    data = Batch(NodeFeatures.from_tensor(torch.ones(6, 1)), graph, None, torch.tensor([0, 1, 1, 2, 3, 3]), 4)
    part = sample_graphs(data, 10, torch.Generator().manual_seed(0))
    assert part.num_graphs == 2
    assert part.graph_id.tolist() == [0, 0, 1, 1]
