from __future__ import annotations

from dataclasses import replace

import pytest

from girl.errors import InputError
from girl.training.supervised import RegularizerSettings
from girl.training.supervised_run import untrained_classifier
from tests.helpers.supervised import SMALL, problem, recipe_with


def test_a_single_layer_is_regularized_only_with_last():
    _, labels, _ = problem()
    flat = replace(recipe_with("kr"), model=replace(SMALL.model, depth=1))
    assert untrained_classifier(12, labels, flat).regularizer is None
    last = replace(flat, regularizer=replace(flat.regularizer, last=True))
    regularizer = untrained_classifier(12, labels, last).regularizer
    assert regularizer is not None
    assert regularizer.layers == ["encoder.convolutions.0"]


@pytest.mark.parametrize(
    ("kind", "decay", "adjacent"),
    [("none", 0.0, False), ("weight_decay", 0.5, False), ("fully_adjacent", 0.0, True)],
)
def test_resolving_moves_the_regularizer_into_model_and_training(kind, decay, adjacent):
    recipe = recipe_with(kind)
    recipe = replace(recipe, regularizer=replace(recipe.regularizer, decay=0.5)).resolved()
    assert (recipe.train.weight_decay, recipe.model.fully_adjacent) == (decay, adjacent)


@pytest.mark.parametrize(
    ("wrong", "word"), [({"regularizer": "krr"}, "'kr'"), ({"weight": -1}, "weight"), ({"form": "cube"}, "square")]
)
def test_wrong_settings_say_what_is_expected(wrong, word):
    with pytest.raises(InputError, match=word):
        RegularizerSettings(**wrong)
