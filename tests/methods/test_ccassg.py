from __future__ import annotations

import pytest
import torch

from girl.errors import InputError
from girl.methods.ccassg import CCASSG, CCASSGSettings
from tests.helpers.methods import build, seeded


def test_loss_equals_the_formula(data):
    settings = CCASSGSettings(drop_features=0.0, drop_edges=0.0, decorrelation=0.1)
    method = build(CCASSG, settings, data, activation="none")
    terms = method.losses(data, seeded())
    h = method.encoder(data.x, data.graph)[-1]
    z = (h - h.mean(0)) / h.std(0, correction=0)
    n, k = z.shape
    torch.testing.assert_close(terms["difference"], torch.tensor(0.0), atol=1e-5, rtol=0)
    correlation = 2 * (z.T @ z / n - torch.eye(k)).square().sum()
    torch.testing.assert_close(terms["correlation"], 0.1 * correlation / k)


def test_terms_do_not_depend_on_the_scale_of_the_output(data):
    method = build(CCASSG, CCASSGSettings(), data, layers=1, activation="none")
    before = method.losses(data, seeded())
    with torch.no_grad():
        method.encoder.convolutions[0].linear.weight.mul_(7)
    for name, term in method.losses(data, seeded()).items():
        torch.testing.assert_close(term, before[name])


def test_a_negative_rate_is_refused():
    with pytest.raises(InputError, match="drop_edges"):
        CCASSGSettings(drop_edges=-1.0)
