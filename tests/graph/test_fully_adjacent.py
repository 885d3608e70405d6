from __future__ import annotations

import pytest
import torch

from girl.errors import InputError
from girl.graph.fully_adjacent import FullyAdjacentGraph
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.nn.convolutions import convolution


def all_edges(nodes: int) -> Graph:
    return Graph.from_edges((~torch.eye(nodes, dtype=torch.bool)).nonzero().T, nodes)


@pytest.mark.parametrize("conv", ["sage", "graphconv", "gcn", "gin", "sgc", "appnp"])
@pytest.mark.parametrize("nodes", [1, 2, 40])
@pytest.mark.parametrize("first", [True, False])
def test_a_layer_is_that_on_the_graph_of_all_edges(conv, nodes, first):
    torch.manual_seed(0)
    layer = convolution(conv, 6, 5, 1, 3, 0.1)
    inputs = [torch.randn(nodes, 6).requires_grad_() for _ in range(2)]
    inputs[1].data.copy_(inputs[0].data)
    outs = []
    for x, graph in zip(inputs, (FullyAdjacentGraph(nodes), all_edges(nodes)), strict=True):
        given = NodeFeatures.from_tensor(x.detach(), "none") if first else x
        outs.append(layer(given, graph))
        if not first:
            outs[-1].square().sum().backward()
        rows = torch.tensor([nodes - 1, 0])
        torch.testing.assert_close(layer(given, graph, rows), outs[-1][rows], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(*outs, rtol=1e-4, atol=1e-5)
    if not first:
        torch.testing.assert_close(inputs[0].grad, inputs[1].grad, rtol=1e-4, atol=1e-4)


def test_a_million_nodes_need_no_edges():
    """What would be 10¹² edges."""
    z = torch.ones(1_000_000, 2)
    torch.testing.assert_close(FullyAdjacentGraph(1_000_000).mean @ z, z)


def test_attention_is_refused():
    with pytest.raises(InputError, match="n² of them"):
        convolution("gatv2", 4, 4, 2, 1, 0.1)(torch.ones(3, 4), FullyAdjacentGraph(3))


def test_rows_of_rows_are_rows_of_the_matrix():
    z, index, part = torch.randn(5, 2), torch.tensor([4, 0, 2]), torch.tensor([2, 0])
    for matrix in (FullyAdjacentGraph(5).mean, FullyAdjacentGraph(5).sum, FullyAdjacentGraph(5).gcn):
        assert matrix.rows(index).shape == (3, 5)
        torch.testing.assert_close(matrix.rows(index).rows(part) @ z, (matrix @ z)[index[part]])


@pytest.mark.parametrize("name", ["adjacency", "edge_index", "subgraph", "degree", "sample_neighbors", "drop_edges"])
def test_it_has_nothing_that_would_need_its_edges(name):
    assert not hasattr(FullyAdjacentGraph(3), name)
