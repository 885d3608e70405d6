from __future__ import annotations

import math
import subprocess
import sys
import time

import pytest
import torch
from rich.console import Console

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.methods.girl import GIRLMethod, GIRLSettings
from girl.nn.encoder import EncoderSettings
from girl.training.checkpoint import list_checkpoints, load_newest
from girl.training.context import Context
from girl.training.loop import DivergedError, fit
from girl.training.state import TrainingState, TrainSettings


def whole(n=150):
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(n, 30, generator=generator) < 0.2).float()
    return Batch(
        NodeFeatures.from_tensor(x.to_sparse_csr()),
        Graph.from_edges(torch.randint(n, (2, 4 * n), generator=generator), n),
    )


def method(**extra):
    torch.manual_seed(0)
    return GIRLMethod(
        30, EncoderSettings(conv="gcn", hidden=16, layers=2), GIRLSettings(rank=16, target_rank=8, rows=100, **extra)
    )


def train(folder=None, epochs=8, made=None, **settings):
    made = made or method()
    config = settings.pop("config", {})
    context = Context(folder=folder, resume=settings.pop("resume", "auto"))
    history = fit(made, whole(), TrainSettings(epochs=epochs, save_every=2, **settings), context, config)
    return made, history


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


@pytest.mark.parametrize(("optimizer", "shrunk"), [("adamw", 0.9), ("adam", None)])
def test_weights_that_the_loss_leaves_alone_are_drawn_to_zero(optimizer, shrunk):
    """AdamW takes away a share of each; Adam, which scales the penalty's gradient, the same number from each."""
    made = method()
    before = made.encoder.convolution(0).linear.weight.detach().clone()
    made.losses = lambda batch, generator: {"nothing": 0 * sum(p.sum() for p in made.parameters())}
    train(made=made, epochs=1, lr=1e-3, weight_decay=100.0, optimizer=optimizer)
    after = made.encoder.convolution(0).linear.weight
    expected = before * shrunk if shrunk else before - 1e-3 * before.sign()
    torch.testing.assert_close(after, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("optimizer", ["adamw", "adam"])
def test_resumed_equals_uninterrupted_with_either_optimizer(tmp_path, optimizer):
    settings = {"optimizer": optimizer, "weight_decay": 1e-2}
    train(tmp_path, epochs=4, **settings)
    resumed, _ = train(tmp_path, epochs=8, **settings)
    assert same(resumed, train(epochs=8, **settings)[0])


@pytest.mark.parametrize("schedule", ["constant", "cosine", "plateau"])
@pytest.mark.parametrize("clusters", [0, 6])
def test_resumed_equals_uninterrupted(tmp_path, schedule, clusters):
    settings = {"schedule": schedule, "clusters": clusters, "batch_size": 2}
    straight, expected = train(epochs=8, **settings)
    # A cosine's rate depends on the last epoch: the interruption must come from outside, not from fewer epochs.
    made = method()
    steps = iter(range(100))
    plain = made.losses

    def interrupted(batch, generator):
        if next(steps) == (5 if not clusters else 16):
            raise KeyboardInterrupt
        return plain(batch, generator)

    made.losses = interrupted
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path, made=made, **settings)
    resumed, history = train(tmp_path, **settings)
    assert same(resumed, straight)
    assert history.epochs == expected.epochs


def test_the_same_seed_gives_the_same_bits_and_another_does_not():
    assert same(train()[0], train()[0])
    assert not same(train()[0], train(seed=1)[0])


def test_training_lowers_the_loss_and_moves_every_parameter():
    made, history = train(epochs=30)
    assert history.epochs[-1]["layer 2"] < history.epochs[0]["layer 2"]
    assert all(not torch.equal(a, b) for a, b in zip(made.parameters(), method().parameters(), strict=True))
    assert history.seconds > 0


def test_no_epochs_leave_the_encoder_untrained():
    made, history = train(epochs=0)
    assert same(made.encoder, method().encoder)
    assert history.epochs == []


def test_it_stops_when_nothing_moves(tmp_path):
    made, history = train(tmp_path, epochs=60, lr=1e-9, patience=5, tol=0.1)
    assert len(history.epochs) < 60
    assert "no improvement" in history.stopped
    again, repeated = train(tmp_path, epochs=60, lr=1e-9, patience=5, tol=0.1)
    assert same(made, again)
    assert len(repeated.epochs) == len(history.epochs)


def test_a_damaged_checkpoint_falls_back_and_ends_in_the_same_bits(tmp_path):
    straight, _ = train(tmp_path)
    newest = list_checkpoints(tmp_path / "checkpoints")[0]
    newest.write_bytes(newest.read_bytes()[:100])
    with pytest.warns(UserWarning, match="checkpoint skipped"):
        resumed, _ = train(tmp_path)
    assert same(resumed, straight)


@pytest.mark.parametrize("value", [math.nan, 1e6])
def test_divergence_stops_with_the_last_good_state(tmp_path, value):
    made = method()
    plain, calls = made.losses, iter(range(100))

    def losses(batch, generator):
        found = plain(batch, generator)
        return {name: term * value for name, term in found.items()} if next(calls) == 5 else found

    made.losses = losses
    with pytest.raises(DivergedError, match=r"epoch 6.*after epoch 4.*lr"):
        train(tmp_path, made=made)
    good, _ = train(epochs=4)
    assert same(made, good)
    assert load_newest(tmp_path / "checkpoints")[1]["epoch"] == 4


def test_another_run_in_the_folder_is_not_overwritten(tmp_path):
    train(tmp_path, config={"lr": 1})
    with pytest.raises(InputError, match=r"differs in lr.*--resume never"):
        train(tmp_path, config={"lr": 2})
    train(tmp_path, config={"lr": 2}, resume="never")


def test_progress_is_plain_lines_without_a_terminal(capsys):
    fit(
        method(),
        whole(),
        TrainSettings(epochs=3),
        Context(console=Console(file=sys.stdout, force_terminal=False, width=200)),
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("epoch 1/3")
    assert lines[-1].startswith("epoch 3/3")
    assert all(word in lines[0] for word in ("ρ̂ layer 2", "nodes/s", "s left"))


def test_progress_is_a_bar_on_a_terminal(capsys):
    fit(
        method(),
        whole(),
        TrainSettings(epochs=3),
        Context(console=Console(file=sys.stdout, force_terminal=True, width=200)),
    )
    assert "3/3" in capsys.readouterr().out


CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_loop import train
from safetensors.torch import save_file
made, _ = train(Path(sys.argv[1]), epochs=60)
save_file(made.state_dict(), Path(sys.argv[1]) / "final.safetensors")
"""


def test_killed_at_any_moment_and_resumed_ends_in_the_same_bits(tmp_path):
    from safetensors.torch import load_file

    here = str(__import__("pathlib").Path(__file__).parent)
    command = [sys.executable, "-W", "ignore", "-c", CHILD, str(tmp_path), here]
    kills = 0
    for attempt in range(6):
        child = subprocess.Popen(command)
        if attempt < 3:
            # Kill soon after a new checkpoint appears, or in the middle of writing one.
            before, deadline = set(list_checkpoints(tmp_path / "checkpoints")), time.monotonic() + 60
            while (
                set(list_checkpoints(tmp_path / "checkpoints")) == before
                and child.poll() is None
                and time.monotonic() < deadline
            ):
                time.sleep(0.001)
            time.sleep(0.013 * attempt)
            kills += child.poll() is None
            child.kill()
        child.wait()
        if (tmp_path / "final.safetensors").exists():
            break
    assert kills == 3
    straight, _ = train(epochs=60)
    found = load_file(tmp_path / "final.safetensors")
    assert all(torch.equal(value, found[name]) for name, value in straight.state_dict().items())


@pytest.mark.parametrize("wrong", [{"epochs": -1}, {"lr": 0.0}, {"schedule": "cosin"}, {"batch_size": 0}])
def test_wrong_settings_are_named(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        TrainSettings(**wrong)


@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_the_rate_rises_at_first(schedule):
    made = method()
    rates = []
    plain = made.after_step
    made.after_step = lambda share: (rates.append(trainer.optimizer.param_groups[0]["lr"]), plain(share))
    trainer = TrainingState(made, TrainSettings(epochs=10, lr=0.5, warmup=4, schedule=schedule), Context())
    made.prepare(whole(), torch.Generator().manual_seed(0))
    for _ in range(10):
        trainer.end_epoch(trainer.step(whole()))
    assert rates[:5] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert rates[9] == pytest.approx(0.5 if schedule == "constant" else 0.25 * (1 + math.cos(math.pi * 5 / 6)))


def test_a_limit_of_time_ends_training_after_an_epoch():
    _, history = train(epochs=50, time_limit=1e-6)
    assert len(history.epochs) == 1
    assert history.stopped == "the time limit of 1e-06 s was reached"
    _, history = train(epochs=1, time_limit=1e-6)
    assert not history.stopped


def test_schedules_are_run_through_within_the_time():
    made, told = method(), []
    trainer = TrainingState(
        made, TrainSettings(epochs=1000, lr=0.5, warmup=100, schedule="cosine", time_limit=10), Context()
    )
    made.after_step = lambda share: told.append((share, trainer.optimizer.param_groups[0]["lr"]))
    made.prepare(whole(), torch.Generator().manual_seed(0))
    for seconds in (0.5, 1.0, 5.5, 10.0):
        terms = trainer.step(whole())
        trainer.history.seconds = seconds
        trainer.end_epoch(terms)
    trainer.step(whole())
    assert [share for share, _ in told] == pytest.approx([0, 0.05, 0.1, 0.55, 1])
    assert [rate for _, rate in told] == pytest.approx([0.5 / 101, 0.5 * 51 / 101, 0.5, 0.25, 0])
    assert trainer.is_done
    again = TrainingState(made, trainer.settings, Context())
    again.restore(trainer.tensors(), trainer.numbers())
    assert again.schedule_epoch == trainer.schedule_epoch


def test_methods_are_told_of_steps_and_epochs():
    made, told = method(), []
    made.after_step = lambda share: told.append(share)

    def after_epoch(batches, generator):
        told.append([batch.num_nodes for batch in batches()])
        assert isinstance(generator, torch.Generator)

    made.after_epoch = after_epoch
    train(epochs=2, made=made, clusters=3)
    shares = [one for one in told if not isinstance(one, list)]
    assert shares == [0.0, 0.0, 0.0, 0.5, 0.5, 0.5]
    assert [sum(one) for one in told if isinstance(one, list)] == [150, 150]
