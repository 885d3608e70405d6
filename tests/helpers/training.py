"""A small graph and a small method, and their training."""

from __future__ import annotations

import torch

from girl.graph.batch import Batch
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.methods.girl import GIRLMethod, GIRLSettings
from girl.nn.encoder import EncoderSettings
from girl.training.context import Context
from girl.training.loop import fit
from girl.training.state import TrainSettings


def small_graph(n=150):
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(n, 30, generator=generator) < 0.2).float()
    return Batch(
        NodeFeatures.from_tensor(x.to_sparse_csr()),
        Graph.from_edges(torch.randint(n, (2, 4 * n), generator=generator), n),
    )


def small_method(**extra):
    torch.manual_seed(0)
    return GIRLMethod(
        30, EncoderSettings(conv="gcn", hidden=16, layers=2), GIRLSettings(rank=16, target_rank=8, rows=100, **extra)
    )


def train(folder=None, epochs=8, made=None, **settings):
    made = made or small_method()
    config = settings.pop("config", {})
    context = Context(folder=folder, resume=settings.pop("resume", "auto"))
    history = fit(made, small_graph(), TrainSettings(epochs=epochs, save_every=2, **settings), context, config)
    return made, history


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))
