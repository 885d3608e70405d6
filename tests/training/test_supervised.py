from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Data

from girl.errors import InputError
from girl.evaluation.labels import of_classes, of_several
from girl.training.run import batch_of
from girl.training.state import TrainSettings
from girl.training.supervised import (
    ClassifierSettings,
    Labels,
    RegularizerSettings,
    SupervisedRecipe,
    classifier,
    learn,
)

SMALL = SupervisedRecipe(
    ClassifierSettings(depth=3, hidden=16),
    RegularizerSettings(rank=16),
    TrainSettings(epochs=12, lr=1e-2, save_every=1),
)


def problem(n=200, several=False, seed=0):
    """Neighbours share a class, features speak of it; half of the nodes are learned from."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 4
    pairs = torch.randint(n, (2, 10 * n), generator=generator)
    pairs = pairs[:, (y[pairs[0]] == y[pairs[1]]) | (torch.rand(10 * n, generator=generator) < 0.1)]
    x = torch.randn(n, 12, generator=generator) + 2 * torch.eye(12)[y]
    order = torch.randperm(n, generator=generator)
    label = torch.nn.functional.one_hot(y) if several else y
    shares = [part.sort().values for part in order.split([n // 2, n // 4, n - n // 2 - n // 4])]
    labels = Labels(label, shares[0], shares[1], 4, of_several if several else of_classes)
    return batch_of(Data(x=x, edge_index=pairs), SMALL.model.encoder), labels, shares[2]


def with_kind(kind, **train):
    recipe = replace(SMALL, regularizer=replace(SMALL.regularizer, regularizer=kind))
    return replace(recipe, train=replace(recipe.train, **train))


@pytest.mark.parametrize("kind", ["none", "weight_decay", "fully_adjacent", "kr"])
@pytest.mark.parametrize("several", [False, True])
def test_every_kind_learns(kind, several):
    whole, labels, test = problem(several=several)
    method, history = learn(whole, labels, with_kind(kind, epochs=50))
    assert labels.score(method.embed(whole), test) > 0.6  # by chance 0.25
    assert len(history.scores) == len(history.epochs) == 50
    assert set(history.epochs[0]) == ({"cross-entropy", "KR"} if kind == "kr" else {"cross-entropy"})
    assert method.model.settings.fully_adjacent == (kind == "fully_adjacent")


def test_the_weights_are_those_of_the_best_epoch():
    whole, labels, _ = problem()
    method, history = learn(whole, labels, with_kind("none", epochs=25, lr=0.05))
    assert labels.score(method.embed(whole), labels.val) == max(history.scores)


def test_patience_is_that_of_the_validation_nodes():
    whole, labels, _ = problem()
    _, history = learn(whole, labels, with_kind("none", epochs=200, patience=4))
    assert len(history.scores) < 200
    assert max(history.scores[:-4]) == max(history.scores)
    assert "no progress for 4 epochs" in history.stopped


@pytest.mark.parametrize("kind", ["fully_adjacent", "kr"])
@pytest.mark.parametrize("clusters", [0, 6])
def test_resumed_equals_uninterrupted(kind, clusters, tmp_path):
    whole, labels, _ = problem()
    recipe = with_kind(kind, clusters=clusters, batch_size=2)
    straight, history = learn(whole, labels, recipe)
    learn(whole, labels, replace(recipe, train=replace(recipe.train, epochs=7)), folder=tmp_path)
    resumed, again = learn(whole, labels, recipe, folder=tmp_path)
    assert torch.equal(resumed.embed(whole), straight.embed(whole))
    assert again.scores == history.scores
    assert again.epochs == history.epochs


def test_labels_of_other_nodes_are_not_learned_from():
    whole, labels, test = problem()
    y = labels.y.clone()
    y[test] = 0
    found = [learn(whole, one, with_kind("kr"))[0].embed(whole) for one in (labels, replace(labels, y=y))]
    assert torch.equal(*found)


def test_batches_without_training_nodes_are_passed_over():
    whole, labels, _ = problem()
    few = replace(labels, train=labels.train[:3])
    method, history = learn(whole, few, with_kind("kr", clusters=20, epochs=4))
    assert len(history.epochs) == 4
    assert torch.isfinite(method.embed(whole)).all()


def test_a_single_layer_has_nothing_to_regularise():
    _, labels, _ = problem()
    flat = replace(with_kind("kr"), model=replace(SMALL.model, depth=1))
    assert classifier(12, labels, flat, "cpu").regularizer is None
    last = replace(flat, regularizer=replace(flat.regularizer, last=True))
    assert classifier(12, labels, last, "cpu").regularizer.layers == ["encoder.convolutions.0"]


def test_the_seed_is_the_run():
    whole, labels, _ = problem()
    one, two, other = (learn(whole, labels, with_kind("kr", seed=seed))[0].embed(whole) for seed in (1, 1, 2))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


@pytest.mark.parametrize(
    ("wrong", "word"), [({"regularizer": "krr"}, "'kr'"), ({"weight": -1}, "weight"), ({"form": "cube"}, "square")]
)
def test_wrong_settings_say_what_is_expected(wrong, word):
    with pytest.raises(InputError, match=word):
        RegularizerSettings(**wrong)
