from __future__ import annotations

import pytest
import torch

from girl.errors import InputError
from girl.graph.node_features import NodeFeatures
from girl.methods.ggd import GGD, GGDSettings
from tests.helpers.methods import build, seeded


def test_loss_equals_the_formula(data):
    method = build(GGD, GGDSettings(drop_features=0.0), data)
    loss = method.losses(data, seeded())["groups"]
    order = torch.randperm(data.num_nodes, generator=seeded())

    def scores(x):
        return method.encoder(x, data.graph)[-1] @ method.head.weight.sum(1) + method.head.bias.sum()

    real, shuffled = scores(data.x), scores(NodeFeatures(dense=data.x.dense()[order]))
    torch.testing.assert_close(loss, -(real.sigmoid().log().mean() + (1 - shuffled.sigmoid()).log().mean()) / 2)


def test_embeddings_add_their_propagation(data):
    h = torch.randn(data.num_nodes, 8, generator=seeded())
    method = build(GGD, GGDSettings(num_hops=2), data)
    torch.testing.assert_close(method.transform_layer(h, data), h + data.graph.gcn @ (data.graph.gcn @ h))
    assert build(GGD, GGDSettings(num_hops=0), data).transform_layer(h, data) is h


def test_negative_hops_are_refused():
    with pytest.raises(InputError, match="num_hops"):
        GGDSettings(num_hops=-1)
