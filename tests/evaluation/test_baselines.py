from __future__ import annotations

import logging

import pytest
import torch
from torch_geometric.data import Data

from girl.errors import InputError
from girl.evaluation.baselines import BASELINES, bag_of_nodes, propagate_features, raw
from girl.graph.graph import Graph

# A path 0 - 1 - 2 in one direction, with a duplicate edge and a self-loop; node 3 is isolated.
EDGES = torch.tensor([[0, 0, 1, 1], [1, 1, 2, 1]])


def propagation_matrix() -> torch.Tensor:
    a = torch.eye(4)
    a[0, 1] = a[1, 0] = a[1, 2] = a[2, 1] = 1
    root = a.sum(1).rsqrt()
    return root[:, None] * a * root


@pytest.fixture
def data() -> Data:
    return Data(x=torch.rand(4, 3, generator=torch.Generator().manual_seed(0)), edge_index=EDGES)


def test_the_graph_is_undirected_and_duplicates_count_once():
    torch.testing.assert_close(Graph.from_edges(EDGES, 4).gcn.tensor.to_dense(), propagation_matrix())


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_hops_are_powers_of_the_propagation_matrix(data, layout):
    x, a = data.x, propagation_matrix()
    data = Data(x=x.to_sparse_csr() if layout == "csr" else x, edge_index=EDGES)
    torch.testing.assert_close(propagate_features(data, hops=3), a @ a @ a @ x)
    torch.testing.assert_close(propagate_features(data, hops=2, keep=True), torch.cat([x, a @ x, a @ a @ x], 1))
    torch.testing.assert_close(propagate_features(data, hops=0), x)


def test_pagerank_equals_its_closed_form(data):
    exact = 0.2 * torch.linalg.solve(torch.eye(4) - 0.8 * propagation_matrix(), data.x)
    torch.testing.assert_close(propagate_features(data, teleport=0.2), exact, atol=2e-3, rtol=0)
    torch.testing.assert_close(propagate_features(data, teleport=1.0), data.x)


def test_large_sparse_features_are_reduced_and_logged(caplog, monkeypatch):
    monkeypatch.setattr("girl.evaluation.baselines.LARGE", 600 * 1000)
    generator = torch.Generator().manual_seed(0)
    # The rank is 40, so 512 directions preserve all inner products.
    x = (torch.rand(600, 40, generator=generator) < 0.1).float() @ (
        torch.rand(40, 1100, generator=generator) < 0.01
    ).float()
    data = Data(x=x.to_sparse_csr(), edge_index=torch.randint(0, 600, (2, 900), generator=generator))
    with caplog.at_level(logging.INFO, "girl.evaluation.baselines"):
        h = propagate_features(data, hops=1)
    assert "1100 columns are reduced to 512" in caplog.text
    exact = propagate_features(Data(x=x, edge_index=data.edge_index), hops=1)
    assert h.shape == (600, 512)
    torch.testing.assert_close(h @ h.T, exact @ exact.T, atol=1e-3, rtol=1e-3)
    assert torch.equal(h, propagate_features(data, hops=1))


def test_every_baseline_has_a_row_for_each_node(data):
    assert {name: len(baseline(data)) for name, baseline in BASELINES.items()} == dict.fromkeys(
        ["raw", "sgc", "hops", "ppr"], 4
    )
    assert raw(data) is data.x


def test_errors_name_the_argument(data):
    for arguments in ({}, {"hops": 1, "teleport": 0.1}):
        with pytest.raises(InputError, match="exactly one"):
            propagate_features(data, **arguments)
    with pytest.raises(InputError, match="hops"):
        propagate_features(data, hops=-1)
    with pytest.raises(InputError, match="teleport"):
        propagate_features(data, teleport=0.0)
    with pytest.raises(InputError, match="given node 7"):
        propagate_features(Data(x=data.x, edge_index=torch.tensor([[0], [7]])), hops=1)
    with pytest.raises(InputError, match="without node features"):
        raw(Data(edge_index=EDGES))


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_bag_of_nodes_sums_the_features_of_each_graph(data, layout):
    x = data.x.to_sparse_csr() if layout == "csr" else data.x
    bags = bag_of_nodes(Data(x=x, edge_index=EDGES, graph=torch.tensor([0, 0, 0, 2]), graphs=3))
    torch.testing.assert_close(bags, torch.stack([data.x[:3].sum(0), torch.zeros(3), data.x[3]]))
