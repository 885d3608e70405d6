from __future__ import annotations

import pytest
import torch

from girl import datasets
from girl.lab.measured_training import Looks, trained
from girl.training.batch import make_batch
from girl.training.recipe import Recipe, method_recipe
from girl.training.run import pretrain
from girl.training.state import History


@pytest.mark.parametrize("method", ["girl", "dgi", "bgrl"])
def test_looking_does_not_change_what_is_learned(method):
    recipe = method_recipe(method, None).with_values({"hidden": 16, "epochs": 6})
    whole = make_batch(datasets.load("digits").data, recipe.encoder)
    seen = []

    def judge(h):
        seen.append(h.clone())
        return 0.1 * len(seen)

    h, told = trained(whole, recipe, judge)
    assert torch.equal(h, pretrain(whole, recipe).embed(whole))
    assert [look["epoch"] for look in told["looks"]] == [1, 4, 6]
    assert torch.equal(seen[-1], h)
    assert not torch.equal(seen[0], h)
    assert told["best_seconds"] == told["looks"][-1]["seconds"] == told["train_seconds"]
    assert told["epochs"] == 6


def test_looks_of_no_training_are_its_end():
    recipe = Recipe().with_values({"hidden": 8, "epochs": 0})
    whole = make_batch(datasets.load("digits").data, recipe.encoder)
    _, told = trained(whole, recipe, lambda h: 0.5)
    assert told["looks"] == [{"epoch": 0, "seconds": 0.0, "val": 0.5}]


def test_the_best_is_reached_by_the_first_that_is_close():
    looks = Looks(None, float)
    for epoch, val in ((1, 0.5), (2, 0.796), (3, 0.8), (4, 0.7)):
        looks.add(val, History(epochs=[{}] * epoch, seconds=10.0 * epoch))
    assert looks.best_seconds == 20
