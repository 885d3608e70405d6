"""Numbers that stop being numbers in the middle of a run."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from girl import datasets
from girl.training.batch import make_batch
from girl.training.checkpoint import load_newest
from girl.training.context import Context
from girl.training.loop import DivergedError
from girl.training.recipe import Recipe
from girl.training.run import pretrain

RECIPE = Recipe.encoder_default().with_values({"hidden": 8, "epochs": 6, "save_every": 1, "clusters": 4})


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_features_that_go_bad_cost_nothing_that_was_learned(tmp_path, value):
    expected = pretrain(make_batch(datasets.load("digits").data, RECIPE.encoder), RECIPE)
    whole = make_batch(datasets.load("digits").data, RECIPE.encoder)
    features = whole.x.dense()

    def spoil(method, history):
        if len(history.epochs) == 3:
            features[100:200] = value

    with pytest.raises(DivergedError, match=r"stopped in epoch 4.*weights after epoch 3 are kept.*extreme values"):
        pretrain(whole, RECIPE, Context(folder=tmp_path), callback=spoil)
    tensors, numbers = load_newest(tmp_path / "checkpoints")
    assert numbers["epoch"] == 3
    assert all(torch.isfinite(tensor).all() for tensor in tensors.values() if tensor.is_floating_point())
    # With the features mended the run ends where it would have ended.
    again = pretrain(make_batch(datasets.load("digits").data, RECIPE.encoder), RECIPE, Context(folder=tmp_path))
    assert again.history.epochs == expected.history.epochs
    assert np.array_equal(again.vectors, expected.vectors)
