from __future__ import annotations

import pytest
import torch

from girl.training.batch import induced_batch, make_batch
from girl.training.run import pretrain
from girl.training.untrained import embed_untrained, embed_without_weights, resolve_recipe, untrained_method
from tests.helpers.clustered import SMALL, clustered


def nth(operator, times, x):
    for _ in range(times):
        x = operator @ x
    return x


def test_features_that_are_ids_are_left_out():
    data = clustered()
    assert resolve_recipe(SMALL, make_batch(data, SMALL.encoder)) is SMALL
    data.x = torch.eye(120).to_sparse_csr()
    whole = make_batch(data, SMALL.encoder)
    assert resolve_recipe(SMALL, whole).encoder.keep == 0
    assert pretrain(whole, SMALL).embed(whole).shape == embed_untrained(whole, SMALL).shape == (120, 16)


def test_zero_epochs_equal_the_untrained_encoder():
    recipe = SMALL.with_values({"epochs": 0})
    whole = make_batch(clustered(), recipe.encoder)
    part = induced_batch(whole, torch.arange(50))
    assert torch.equal(pretrain(part, recipe).embed(whole), embed_untrained(whole, recipe, part))
    assert not torch.equal(embed_untrained(whole, recipe, part), embed_untrained(whole, recipe))


@pytest.mark.parametrize("conv", ["appnp", "gcn", "mlp", "sgc"])
def test_without_weights_the_encoder_only_smooths(conv):
    recipe = SMALL.with_values({"conv": conv, "keep": 0.0, "unit": False, "normalize": "none"})
    whole = make_batch(clustered(), recipe.encoder)
    operators = {
        "appnp": lambda x: whole.graph.propagate(x, 0.1, 10),
        "gcn": lambda x: whole.graph.gcn @ x,
        "mlp": lambda x: x,
        "sgc": lambda x: nth(whole.graph.gcn, 10, x),
    }
    smoothed = operators[conv](clustered().x)
    found = embed_without_weights(whole, recipe)
    torch.testing.assert_close(found / found.norm(), smoothed / smoothed.norm(), rtol=1e-4, atol=1e-6)


def test_without_weights_wide_features_are_reduced(monkeypatch):
    monkeypatch.setattr("girl.training.untrained.MAX_COLUMNS", 8)
    whole = make_batch(clustered(), SMALL.encoder)
    narrow = SMALL.with_values({"hidden": 6})
    assert embed_without_weights(whole, narrow).shape == (120, 12)


def test_untrained_weights_depend_on_the_seed_only():
    first, again, other = (untrained_method(12, SMALL.with_seed(seed)) for seed in (0, 0, 1))
    weights = [torch.cat([p.flatten() for p in method.parameters()]) for method in (first, again, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
