from __future__ import annotations

import logging

import pytest
import torch
from torch_geometric.data import Data

from girl.errors import InputError
from girl.evaluation.baselines import CONTROLS, propagated, raw
from girl.graph.graph import Graph

# A path 0 - 1 - 2 given one way, with a double edge and a loop; node 3 is alone.
EDGES = torch.tensor([[0, 0, 1, 1], [1, 1, 2, 1]])


def smoother() -> torch.Tensor:
    a = torch.eye(4)
    a[0, 1] = a[1, 0] = a[1, 2] = a[2, 1] = 1
    root = a.sum(1).rsqrt()
    return root[:, None] * a * root


@pytest.fixture
def data() -> Data:
    return Data(x=torch.rand(4, 3, generator=torch.Generator().manual_seed(0)), edge_index=EDGES)


def test_edges_count_both_ways_and_once():
    torch.testing.assert_close(Graph.from_edges(EDGES, 4).gcn.tensor.to_dense(), smoother())


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_hops(data, layout):
    x, a = data.x, smoother()
    data = Data(x=x.to_sparse_csr() if layout == "csr" else x, edge_index=EDGES)
    torch.testing.assert_close(propagated(data, hops=3), a @ a @ a @ x)
    torch.testing.assert_close(propagated(data, hops=2, keep=True), torch.cat([x, a @ x, a @ a @ x], 1))
    torch.testing.assert_close(propagated(data, hops=0), x)


def test_pagerank_is_its_closed_form(data):
    exact = 0.2 * torch.linalg.solve(torch.eye(4) - 0.8 * smoother(), data.x)
    torch.testing.assert_close(propagated(data, teleport=0.2), exact, atol=2e-3, rtol=0)
    torch.testing.assert_close(propagated(data, teleport=1.0), data.x)


def test_large_sparse_features_are_reduced_and_said_to_be(caplog, monkeypatch):
    monkeypatch.setattr("girl.evaluation.baselines.LARGE", 600 * 1000)
    generator = torch.Generator().manual_seed(0)
    # Of rank 40: 512 directions keep all inner products.
    x = (torch.rand(600, 40, generator=generator) < 0.1).float() @ (
        torch.rand(40, 1100, generator=generator) < 0.01
    ).float()
    data = Data(x=x.to_sparse_csr(), edge_index=torch.randint(0, 600, (2, 900), generator=generator))
    with caplog.at_level(logging.INFO, "girl.evaluation.baselines"):
        h = propagated(data, hops=1)
    assert "1100 columns are reduced to 512" in caplog.text
    exact = propagated(Data(x=x, edge_index=data.edge_index), hops=1)
    assert h.shape == (600, 512)
    torch.testing.assert_close(h @ h.T, exact @ exact.T, atol=1e-3, rtol=1e-3)
    assert torch.equal(h, propagated(data, hops=1))


def test_every_control_has_a_row_for_each_node(data):
    assert {name: len(control(data)) for name, control in CONTROLS.items()} == dict.fromkeys(
        ["raw", "sgc", "hops", "ppr"], 4
    )
    assert raw(data) is data.x


def test_mistakes_are_named(data):
    for given in ({}, {"hops": 1, "teleport": 0.1}):
        with pytest.raises(InputError, match="exactly one"):
            propagated(data, **given)
    with pytest.raises(InputError, match="hops"):
        propagated(data, hops=-1)
    with pytest.raises(InputError, match="teleport"):
        propagated(data, teleport=0.0)
    with pytest.raises(InputError, match="given node 7"):
        propagated(Data(x=data.x, edge_index=torch.tensor([[0], [7]])), hops=1)
    with pytest.raises(InputError, match="without node features"):
        raw(Data(edge_index=EDGES))
