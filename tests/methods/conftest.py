from __future__ import annotations

import pytest
import torch

from girl.graph.batch import Batch
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures


def communities(n=120, classes=3, d=24, directed=False):
    """A graph with communities: neighbours mostly share one, and features depend on it, with noise."""
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(n) % classes
    source = torch.randint(n, (6 * n,), generator=generator)
    target = torch.randint(n, (6 * n,), generator=generator)
    keep = (y[source] == y[target]) | (torch.rand(6 * n, generator=generator) < 0.05)
    chance = torch.where(torch.arange(d) % classes == y[:, None], 0.3, 0.1)
    x = (torch.rand(n, d, generator=generator) < chance).float()
    edges = torch.stack([source[keep], target[keep]])
    return Batch(NodeFeatures.from_tensor(x.to_sparse_csr(), "l2"), Graph.from_edges(edges, n, directed)), y


@pytest.fixture
def graph_and_labels():
    return communities()


@pytest.fixture
def data(graph_and_labels):
    return graph_and_labels[0]


def molecules(count=24, seed=0):
    """A set of small graphs: rings, and paths whose ends have a feature of their own."""
    generator = torch.Generator().manual_seed(seed)
    sources, targets, labels, graphs, first = [], [], [], [], 0
    for index in range(count):
        size = int(torch.randint(5, 12, (), generator=generator))
        nodes = torch.arange(first, first + size)
        ring = index % 2 == 0
        sources.append(nodes if ring else nodes[:-1])
        targets.append(nodes.roll(-1) if ring else nodes[1:])
        kind = torch.randint(3, (size,), generator=generator)
        if not ring:
            kind[[0, -1]] = 3
        labels.append(kind)
        graphs.append(torch.full((size,), index))
        first += size
    x = torch.eye(4)[torch.cat(labels)]
    edges = torch.stack([torch.cat(sources), torch.cat(targets)])
    y = torch.arange(count) % 2
    batch = Batch(
        NodeFeatures.from_tensor(x.to_sparse_csr()), Graph.from_edges(edges, first), None, torch.cat(graphs), count
    )
    return batch, y


@pytest.fixture
def set_of_graphs():
    return molecules()


@pytest.fixture
def graphs(set_of_graphs):
    return set_of_graphs[0]
