from __future__ import annotations

import math

import pytest
import torch
from torch.nn.functional import normalize

from girl.errors import InputError
from girl.methods import grace
from girl.methods.grace import GRACE, GRACESettings, info_nce
from tests.helpers.methods import build, seeded


def formula(u, v, temperature):
    total = 0.0
    for i in range(len(u)):
        across = (u[i] @ v.T / temperature).exp()
        within = (u[i] @ u.T / temperature).exp()
        total += -(across[i] / (across.sum() + within.sum() - within[i])).log()
    return total / len(u)


@pytest.mark.parametrize("chunk", [7, 1024])
def test_value_and_gradient_equal_the_formula_for_any_chunk(chunk, monkeypatch):
    monkeypatch.setattr(grace, "CHUNK", chunk)
    u, v = (
        normalize(torch.randn(20, 6, generator=seeded(seed), dtype=torch.float64)).requires_grad_() for seed in (0, 1)
    )
    torch.testing.assert_close(info_nce(u, v, 0.5), formula(u, v, 0.5))
    ours = torch.autograd.grad(info_nce(u, v, 0.5), (u, v))
    torch.testing.assert_close(ours, torch.autograd.grad(formula(u, v, 0.5), (u, v)))


def test_identical_views_give_the_loss_of_one_view_with_itself(data):
    nothing = GRACESettings(drop_features_1=0.0, drop_features_2=0.0, drop_edges_1=0.0, drop_edges_2=0.0)
    method = build(GRACE, nothing, data)
    u = normalize(method.projector(method.encoder(data.x, data.graph)[-1]))
    torch.testing.assert_close(method.losses(data, seeded())["contrast"], formula(u, u, 0.4))


def test_sampled_rows_are_the_only_negatives(data):
    # The loss is at most log(2 · rows) plus the largest difference of cosines, 2, over the temperature.
    loss = build(GRACE, GRACESettings(rows=30), data).losses(data, seeded())["contrast"]
    assert loss < math.log(60) + 2 / 0.4


@pytest.mark.parametrize("wrong", [{"temperature": 0.0}, {"drop_features_1": 1.0}, {"rows": -1}])
def test_wrong_settings_are_named(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        GRACESettings(**wrong)
