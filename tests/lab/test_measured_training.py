from __future__ import annotations

from unittest import mock

import pytest
import torch

from girl import datasets
from girl.lab.measured_training import ValidationCurve, train_measured
from girl.training.batch import make_batch
from girl.training.recipe import Recipe, method_recipe
from girl.training.run import Run, pretrain
from girl.training.state import History


@pytest.mark.parametrize("method", ["girl", "dgi", "bgrl"])
def test_scoring_during_training_does_not_change_the_embedding(method):
    recipe = method_recipe(method, None).with_values({"hidden": 16, "epochs": 6})
    batch = make_batch(datasets.load("digits").data, recipe.encoder)
    scored = []

    def score(h):
        scored.append(h.clone())
        return 0.1 * len(scored)

    h, record = train_measured(batch, recipe, score)
    assert torch.equal(h, pretrain(batch, recipe).vectors)
    assert [point["epoch"] for point in record["looks"]] == [1, 4, 6]
    assert torch.equal(scored[-1], h)
    assert not torch.equal(scored[0], h)
    assert record["best_seconds"] == record["looks"][-1]["seconds"] == record["train_seconds"]
    assert record["epochs"] == 6


def test_without_epochs_there_is_one_point_at_time_zero():
    recipe = Recipe.encoder_default().with_values({"hidden": 8, "epochs": 0})
    batch = make_batch(datasets.load("digits").data, recipe.encoder)
    _, record = train_measured(batch, recipe, lambda h: 0.5)
    assert record["looks"] == [{"epoch": 0, "seconds": 0.0, "val": 0.5}]


def test_the_best_score_counts_as_reached_within_half_a_point():
    curve = ValidationCurve(None, float)
    for epoch, val in ((1, 0.5), (2, 0.796), (3, 0.8), (4, 0.7)):
        curve.add(val, History(epochs=[{}] * epoch, seconds=10.0 * epoch))
    assert curve.best_seconds == 20


def test_the_embedding_of_the_training_graph_is_computed_once():
    recipe = Recipe.encoder_default().with_values({"hidden": 8, "epochs": 1})
    with mock.patch.object(Run, "embed", side_effect=AssertionError):
        h, _ = train_measured(make_batch(datasets.load("digits").data, recipe.encoder), recipe, lambda h: 0.5)
    assert len(h) == 1797
