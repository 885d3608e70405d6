from __future__ import annotations

import math

import pytest
import torch

from girl.errors import InputError
from girl.training.context import Context
from girl.training.state import TrainingState, TrainSettings
from tests.helpers.training import small_graph, small_method, train


@pytest.mark.parametrize(("optimizer", "shrunk"), [("adamw", 0.9), ("adam", None)])
def test_weight_decay_shrinks_weights_without_gradient(optimizer, shrunk):
    """AdamW takes away a share of each; Adam, which scales the penalty's gradient, the same number from each."""
    made = small_method()
    before = made.encoder.convolution(0).linear.weight.detach().clone()
    made.losses = lambda batch, generator: {"nothing": 0 * sum(p.sum() for p in made.parameters())}
    train(made=made, epochs=1, lr=1e-3, weight_decay=100.0, optimizer=optimizer)
    after = made.encoder.convolution(0).linear.weight
    expected = before * shrunk if shrunk else before - 1e-3 * before.sign()
    torch.testing.assert_close(after, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("wrong", [{"epochs": -1}, {"lr": 0.0}, {"schedule": "cosin"}, {"batch_size": 0}])
def test_wrong_settings_are_named(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        TrainSettings(**wrong)


@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_warmup_raises_the_learning_rate(schedule):
    made = small_method()
    rates = []
    plain = made.after_step
    made.after_step = lambda share: (rates.append(trainer.optimizer.param_groups[0]["lr"]), plain(share))
    trainer = TrainingState(made, TrainSettings(epochs=10, lr=0.5, warmup=4, schedule=schedule), Context())
    made.prepare(small_graph(), torch.Generator().manual_seed(0))
    for _ in range(10):
        trainer.end_epoch(trainer.step(small_graph()))
    assert rates[:5] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert rates[9] == pytest.approx(0.5 if schedule == "constant" else 0.25 * (1 + math.cos(math.pi * 5 / 6)))


def test_the_time_limit_ends_training_after_an_epoch():
    _, history = train(epochs=50, time_limit=1e-6)
    assert len(history.epochs) == 1
    assert history.stopped == "the time limit of 1e-06 s was reached"
    _, history = train(epochs=1, time_limit=1e-6)
    assert not history.stopped


def test_schedules_are_compressed_to_the_time_limit():
    made, told = small_method(), []
    trainer = TrainingState(
        made, TrainSettings(epochs=1000, lr=0.5, warmup=100, schedule="cosine", time_limit=10), Context()
    )
    made.after_step = lambda share: told.append((share, trainer.optimizer.param_groups[0]["lr"]))
    made.prepare(small_graph(), torch.Generator().manual_seed(0))
    for seconds in (0.5, 1.0, 5.5, 10.0):
        terms = trainer.step(small_graph())
        trainer.history.seconds = seconds
        trainer.end_epoch(terms)
    trainer.step(small_graph())
    assert [share for share, _ in told] == pytest.approx([0, 0.05, 0.1, 0.55, 1])
    assert [rate for _, rate in told] == pytest.approx([0.5 / 101, 0.5 * 51 / 101, 0.5, 0.25, 0])
    assert trainer.is_done
    again = TrainingState(made, trainer.settings, Context())
    again.restore(trainer.tensors(), trainer.numbers())
    assert again.schedule_epoch == trainer.schedule_epoch
