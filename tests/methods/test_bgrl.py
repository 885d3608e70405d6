from __future__ import annotations

import pytest
import torch
from torch.nn.functional import cosine_similarity

from girl.errors import InputError
from girl.methods.bgrl import BGRL, BGRLSettings
from tests.helpers.methods import build, seeded

NOTHING_DROPPED = BGRLSettings(drop_features_1=0.0, drop_features_2=0.0, drop_edges_1=0.0, drop_edges_2=0.0)


def test_loss_equals_the_formula_and_the_target_has_no_gradient(data):
    method = build(BGRL, NOTHING_DROPPED, data)
    loss = method.losses(data, seeded())["bootstrap"]
    loss.backward()
    predicted = method.predictor(method.encoder(data.x, data.graph)[-1])
    target = method.target_encoder(data.x, data.graph)[-1]
    torch.testing.assert_close(loss, 2 - 2 * cosine_similarity(predicted, target).mean())
    assert all(p.grad is None and not p.requires_grad for p in method.target_encoder.parameters())
    assert all(p.grad is not None for p in method.encoder.parameters())


@pytest.mark.parametrize(("progress", "rate"), [(0.0, 0.01), (0.5, 0.005), (1.0, 0.0)])
def test_the_target_encoder_follows_ever_more_slowly(progress, rate, data):
    method = build(BGRL, NOTHING_DROPPED, data)
    before = [p.clone() for p in method.target_encoder.parameters()]
    method.after_step(progress)
    pairs = zip(before, method.target_encoder.parameters(), method.encoder.parameters(), strict=True)
    for old, new, online in pairs:
        torch.testing.assert_close(new, old + rate * (online - old))


def test_a_momentum_above_one_is_refused():
    with pytest.raises(InputError, match="momentum"):
        BGRLSettings(momentum=2.0)
