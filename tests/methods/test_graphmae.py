from __future__ import annotations

import pytest
import torch
from torch.nn.functional import cosine_similarity

from girl.errors import InputError
from girl.graph.node_features import NodeFeatures
from girl.methods.graphmae import GraphMAE, GraphMAESettings
from tests.helpers.methods import build, seeded


def test_loss_equals_the_formula_with_masked_nodes_masked_twice(data):
    method = build(GraphMAE, GraphMAESettings(mask_rate=0.4, replace_rate=0.0, gamma=2.0, dropout=0.0), data)
    with torch.no_grad():
        method.token.normal_(generator=seeded(1))
    loss = method.losses(data, seeded())["reconstruction"]
    masked = torch.randperm(data.num_nodes, generator=seeded())[: int(0.4 * data.num_nodes)]
    x = data.x.dense()
    visible = x.clone()
    visible[masked] = method.token
    code = method.encoder(NodeFeatures(dense=visible), data.graph)[-1] @ method.encoder_to_decoder.weight
    code[masked] = 0
    reconstructed = method.decoder(code, data.graph)[masked]
    torch.testing.assert_close(loss, (1 - cosine_similarity(reconstructed, x[masked])).square().mean())
    loss.backward()
    assert method.token.grad.abs().sum() > 0


def test_some_masked_nodes_get_the_features_of_others(data):
    method = build(GraphMAE, GraphMAESettings(mask_rate=0.5, replace_rate=0.5, dropout=0.0), data)
    with torch.no_grad():
        method.token.fill_(7.0)
    inputs = []
    method.encoder.register_forward_pre_hook(lambda _, arguments: inputs.append(arguments[0].dense().detach()))
    method.losses(data, seeded())
    x, n = data.x.dense(), data.num_nodes
    masked = torch.randperm(n, generator=seeded())[: n // 2]
    replaced, tokens = masked[: len(masked) // 2], masked[len(masked) // 2 :]
    assert (inputs[0][tokens] == 7).all()
    assert (torch.cdist(inputs[0][replaced], x).min(1).values < 1e-3).all()
    assert not torch.equal(inputs[0][replaced], x[replaced])
    rest = torch.ones(n, dtype=torch.bool)
    rest[masked] = False
    torch.testing.assert_close(inputs[0][rest], x[rest])


def test_masking_nothing_is_refused():
    with pytest.raises(InputError, match="mask_rate"):
        GraphMAESettings(mask_rate=0.0)
