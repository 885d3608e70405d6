from __future__ import annotations

import pytest
import torch

from girl.methods.base import Batch
from girl.nn.features import Features
from girl.nn.graph import Graph


def communities(n=120, classes=3, d=24, directed=False):
    """A graph of communities: neighbours are mostly alike, features speak of the community, noisily."""
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(n) % classes
    source = torch.randint(n, (6 * n,), generator=generator)
    target = torch.randint(n, (6 * n,), generator=generator)
    keep = (y[source] == y[target]) | (torch.rand(6 * n, generator=generator) < 0.05)
    chance = torch.where(torch.arange(d) % classes == y[:, None], 0.3, 0.1)
    x = (torch.rand(n, d, generator=generator) < chance).float()
    edges = torch.stack([source[keep], target[keep]])
    return Batch(Features.of(x.to_sparse_csr(), "l2"), Graph.from_edges(edges, n, directed)), y


@pytest.fixture
def graph_and_labels():
    return communities()
