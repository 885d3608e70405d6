from __future__ import annotations

import math

import torch

from girl.graph.node_features import NodeFeatures
from girl.methods.dgi import DGI, DGISettings
from tests.helpers.methods import build, seeded


def test_loss_equals_the_formula(data):
    method = build(DGI, DGISettings(), data)
    loss = method.losses(data, seeded())["discriminator"]
    real = method.encoder(data.x, data.graph)[-1]
    order = torch.randperm(data.num_nodes, generator=seeded())
    fake = method.encoder(NodeFeatures(dense=data.x.dense()[order]), data.graph)[-1]
    summary = method.discriminator @ real.mean(0).sigmoid()
    positive = (real @ summary + method.bias).sigmoid().log()
    negative = (1 - (fake @ summary + method.bias).sigmoid()).log()
    torch.testing.assert_close(loss, -(positive.mean() + negative.mean()) / 2)


def test_training_lowers_the_loss_below_that_of_guessing(data):
    method = build(DGI, DGISettings(), data)
    optimizer = torch.optim.Adam(method.parameters(), 1e-2)
    generator = seeded()
    for _ in range(150):
        optimizer.zero_grad()
        loss = method.losses(data, generator)["discriminator"]
        loss.backward()
        optimizer.step()
    assert loss < 0.5 < math.log(2)
