from __future__ import annotations

import polars as pl
import pytest
import torch

from girl import datasets
from girl.graph.graph import Graph
from girl.tables import InputSettings, export_graph, read_graph, read_graph_set


@pytest.mark.parametrize("name", ["digits", "texas", "cora"])
def test_an_exported_graph_is_read_back(name, mirror, cache, tmp_path):
    dataset = datasets.load(name, cache, mirror)
    edges, nodes = export_graph(dataset.data, tmp_path)
    directed = name == "texas"
    graph = read_graph(edges, nodes, InputSettings(label="label", directed=directed))
    assert graph.counts["duplicate edges"] == 0
    assert graph.ids.to_list() == list(range(dataset.data.num_nodes))
    assert graph.table["label"].cast(pl.Int64).to_list() == dataset.data.y.tolist()
    expected = Graph.from_edges(dataset.data.edge_index, dataset.data.num_nodes, directed)
    assert torch.equal(
        Graph.from_edges(graph.data.edge_index, len(graph.ids), directed).edge_index, expected.edge_index
    )
    # Features are scaled on the way, column by column or row by row: where they are, they stay.
    if dataset.data.x.layout != torch.strided:
        used = dataset.data.x.to_dense().any(0)
        assert torch.equal(graph.data.x.to_dense() != 0, dataset.data.x.to_dense()[:, used] != 0)


def test_an_exported_set_of_graphs_is_read_back(mirror, cache, tmp_path):
    dataset = datasets.load("mutag", cache, mirror)
    edges, nodes, graphs = export_graph(dataset.data, tmp_path)
    graph = read_graph_set(edges, [nodes], graphs, InputSettings(graph="graph", label="label"))
    assert graph.ids.to_list() == list(range(188))
    assert graph.table["label"].to_list() == dataset.data.y.tolist()
    assert torch.equal(graph.data.graph, dataset.data.graph)
    expected = Graph.from_edges(dataset.data.edge_index, dataset.data.num_nodes)
    assert torch.equal(Graph.from_edges(graph.data.edge_index, graph.data.num_nodes).edge_index, expected.edge_index)
