"""Graphs as distributions of their nodes."""

from __future__ import annotations

import pytest
import torch

from girl.nn.readout import KernelReadout


@pytest.fixture
def nodes():
    generator = torch.Generator().manual_seed(2)
    h = torch.randn(300, 40, generator=generator) * torch.linspace(0.1, 9, 40) + 5
    return h, (torch.arange(300) // 33).clamp(max=9)  # the last graph is smaller


def fitted(nodes, width=1.0):
    torch.manual_seed(0)
    readout = KernelReadout(40, width)
    readout.fit(*nodes, 10)
    return readout


def test_columns_have_mean_zero_and_spread_one(nodes):
    found = fitted(nodes)(*nodes, 10)
    assert torch.allclose(found.mean(0), torch.zeros(40), atol=1e-5)
    assert torch.allclose(found.std(0, correction=0), torch.ones(40), atol=1e-4)


@pytest.mark.parametrize("width", [0.3, 2.0])
def test_before_they_are_scaled_their_products_are_sums_of_the_kernel(nodes, width):
    h, graphs = nodes
    torch.manual_seed(0)
    readout = KernelReadout(40, width, 20_000)  # many frequencies: what is random averages out
    readout.fit(h, graphs, 10)
    raw = readout(h, graphs, 10) / readout.scale.where(readout.scale > 0, torch.ones(())) + readout.mean
    assert raw.shape == (10, 20_000)
    u = (h - h.mean(0)) / h.std(0, correction=0)
    squares = torch.cdist(u, u).square()
    kernel = torch.exp(-squares / (width * squares.mean()))
    owner = torch.nn.functional.one_hot(graphs).float()
    sizes = owner.sum(0)
    expected = owner.T @ kernel @ owner / (sizes.sqrt().unsqueeze(1) * sizes.sqrt())
    assert torch.allclose(raw @ raw.T / 10_000, expected, rtol=0.05, atol=0.1)


def test_graphs_with_equal_sums_are_told_apart():
    h = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [3.0, 1.0], [-3.0, -1.0]])
    graphs = torch.tensor([0, 0, 1, 1])
    torch.manual_seed(0)
    readout = KernelReadout(2, 1.0)
    readout.fit(h, graphs, 2)
    one, other = readout(h, graphs, 2)
    assert (one - other).norm() > 0.5


def test_the_order_of_nodes_does_not_matter_and_chunks_neither(nodes, monkeypatch):
    h, graphs = nodes
    readout = fitted(nodes)
    expected = readout(h, graphs, 10)
    order = torch.randperm(300)
    assert torch.allclose(readout(h[order], graphs[order], 10), expected, atol=1e-4)
    monkeypatch.setattr("girl.nn.readout.CHUNK", 7)
    assert torch.allclose(readout(h, graphs, 10), expected, atol=1e-4)


def test_columns_that_do_not_vary_are_of_no_weight(nodes):
    h, graphs = nodes
    h[:, 7] = 3.0
    readout = fitted((h, graphs))
    before = readout(h, graphs, 10)
    h[:, 7] = 99.0
    assert torch.equal(readout(h, graphs, 10), before)
    assert torch.isfinite(before).all()
