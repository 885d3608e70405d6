from __future__ import annotations

import pytest
import torch

from girl.errors import InputError
from girl.evaluation.baselines import BASELINES
from girl.evaluation.controls import CONTROLS, control
from girl.nn.encoder import EncoderSettings
from girl.training.batch import make_batch
from tests.helpers.clustered import clustered


@pytest.fixture(scope="module")
def batch():
    return make_batch(clustered(), EncoderSettings(normalize="none"))


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_has_at_most_the_given_width(name, batch):
    z = control(name, batch, 8)
    assert z.shape == (120, 8)
    assert z.isfinite().all()
    assert torch.equal(z, control(name, batch, 8))


@pytest.mark.parametrize("name", ["sgc", "hops", "ppr"])
def test_all_components_are_the_smoothed_features_rotated(name, batch):
    full = BASELINES[name](clustered())
    z = control(name, batch, full.shape[1])
    torch.testing.assert_close(torch.cdist(z, z), torch.cdist(full, full), atol=0.03, rtol=0.01)


def test_an_unknown_control_is_refused(batch):
    with pytest.raises(InputError, match="given 'sgd', expected one of raw, sgc"):
        control("sgd", batch, 4)
