from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from girl.training.context import Context
from girl.training.loop import fit
from girl.training.supervised_run import load_supervised, train_classifier, untrained_classifier
from tests.helpers.supervised import problem, recipe_with


@pytest.mark.parametrize("kind", ["none", "weight_decay", "fully_adjacent", "kr"])
@pytest.mark.parametrize("multilabel", [False, True])
def test_every_regularizer_learns(kind, multilabel):
    data, labels, test = problem(multilabel=multilabel)
    run = train_classifier(data, labels, recipe_with(kind, epochs=50))
    assert labels.score(run.predict(data), test) > 0.6  # chance is 0.25
    assert len(run.history.scores) == len(run.history.epochs) == 50
    assert set(run.history.epochs[0]) == ({"cross-entropy", "KR"} if kind == "kr" else {"cross-entropy"})
    assert run.model.settings.fully_adjacent == (kind == "fully_adjacent")


def test_weights_are_those_of_the_best_validation_epoch():
    data, labels, _ = problem()
    run = train_classifier(data, labels, recipe_with("none", epochs=25, lr=0.05))
    assert labels.score(run.predict(data), labels.val) == max(run.history.scores)


def test_patience_counts_epochs_without_a_better_validation_score():
    data, labels, _ = problem()
    history = train_classifier(data, labels, recipe_with("none", epochs=200, patience=4)).history
    assert len(history.scores) < 200
    assert max(history.scores[:-4]) == max(history.scores)
    assert history.stopped == "no improvement for 4 epochs"


@pytest.mark.parametrize("kind", ["fully_adjacent", "kr"])
@pytest.mark.parametrize("clusters", [0, 6])
def test_resumed_equals_uninterrupted(kind, clusters, tmp_path):
    data, labels, _ = problem()
    recipe = recipe_with(kind, clusters=clusters, batch_size=2).resolved()

    def train(epochs, folder=None):
        method = untrained_classifier(12, labels, recipe)
        history = fit(method, data, replace(recipe.train, epochs=epochs), Context(folder=folder))
        return method.embed(data), history

    expected, history = train(12)
    train(7, tmp_path)
    resumed, resumed_history = train(12, tmp_path)
    assert torch.equal(resumed, expected)
    assert resumed_history.scores == history.scores
    assert resumed_history.epochs == history.epochs


def test_labels_of_test_nodes_do_not_reach_the_classifier():
    data, labels, test = problem()
    y = labels.y.clone()
    y[test] = 0
    logits = [train_classifier(data, each, recipe_with("kr")).predict(data) for each in (labels, replace(labels, y=y))]
    assert torch.equal(*logits)


def test_batches_without_training_nodes_are_skipped():
    data, labels, _ = problem()
    run = train_classifier(data, replace(labels, train=labels.train[:3]), recipe_with("kr", clusters=20, epochs=4))
    assert len(run.history.epochs) == 4
    assert torch.isfinite(run.predict(data)).all()


def test_same_seed_same_bits():
    data, labels, _ = problem()
    one, two, other = (train_classifier(data, labels, recipe_with("kr", seed=i)).predict(data) for i in (1, 1, 2))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_a_saved_run_predicts_the_same(tmp_path):
    data, labels, _ = problem()
    run = train_classifier(data, labels, recipe_with("kr", epochs=2), Context(folder=tmp_path))
    loaded = load_supervised(tmp_path)
    assert torch.equal(loaded.predict(data), run.predict(data))
    assert loaded.recipe == run.recipe
