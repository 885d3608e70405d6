from __future__ import annotations

import pytest
import torch

from girl.graph.batch import Batch
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from tests.helpers.samples import seeded

GRAPH_ID = torch.tensor([0, 0, 0, 2, 2, 3])  # graph 1 has no nodes


@pytest.fixture
def batch():
    x = torch.randn(6, 2, generator=seeded())
    graph = Graph.from_edges(torch.tensor([[0, 1, 3], [1, 2, 4]]), 6)
    return Batch(NodeFeatures(dense=x), graph, None, GRAPH_ID, 4)


def test_the_rows_of_a_part_are_those_of_its_nodes(batch):
    matrix = torch.arange(12.0).reshape(6, 2)
    nodes = torch.tensor([4, 0])
    part = batch.subgraph(nodes)
    assert torch.equal(part.rows_of(matrix), matrix[nodes])
    assert batch.rows_of(matrix) is matrix
    assert torch.equal(part.x.dense(), batch.x.dense()[nodes])
    assert part.num_nodes == 2


def test_graphs_keep_their_numbers_unless_they_are_renumbered(batch):
    nodes = torch.tensor([3, 4, 5])
    kept, renumbered = batch.subgraph(nodes), batch.subgraph(nodes, renumber_graphs=True)
    assert (kept.graph_id.tolist(), kept.num_graphs) == ([2, 2, 3], 4)
    assert (renumbered.graph_id.tolist(), renumbered.num_graphs) == ([0, 0, 1], 2)
    assert torch.equal(kept.graph.adjacency.to_dense(), renumbered.graph.adjacency.to_dense())


@pytest.mark.parametrize(("pooling", "function"), [("sum", torch.sum), ("mean", torch.mean), ("max", torch.amax)])
def test_pooling_is_that_of_each_graph_and_zero_without_nodes(batch, pooling, function):
    h = torch.randn(6, 3, generator=seeded(1))
    pooled = batch.pool(h, pooling)
    for graph in range(4):
        rows = h[graph == GRAPH_ID]
        torch.testing.assert_close(pooled[graph], function(rows, 0) if len(rows) else torch.zeros(3))


def test_a_batch_on_another_device_is_the_same(batch):
    moved = batch.subgraph(torch.tensor([3, 4])).to("meta")
    assert {moved.x.device.type, moved.graph.device.type, moved.node_id.device.type} == {"meta"}
    assert moved.num_graphs == 4
