from __future__ import annotations

import math
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from girl.errors import InputError
from girl.training.checkpoint import list_checkpoints, load_newest
from girl.training.loop import DivergedError
from tests.helpers.training import same, small_method, train


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
    made = small_method()
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


def test_same_seed_same_bits():
    assert same(train()[0], train()[0])
    assert not same(train()[0], train(seed=1)[0])


def test_training_lowers_the_loss_and_moves_every_parameter():
    made, history = train(epochs=30)
    assert history.epochs[-1]["layer 2"] < history.epochs[0]["layer 2"]
    assert all(not torch.equal(a, b) for a, b in zip(made.parameters(), small_method().parameters(), strict=True))
    assert history.seconds > 0


def test_no_epochs_leave_the_encoder_untrained():
    made, history = train(epochs=0)
    assert same(made.encoder, small_method().encoder)
    assert history.epochs == []


def test_training_stops_when_the_loss_does_not_fall(tmp_path):
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
    made = small_method()
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


def test_a_folder_of_another_run_is_refused(tmp_path):
    train(tmp_path, config={"lr": 1})
    with pytest.raises(InputError, match=r"differs in lr.*--resume never"):
        train(tmp_path, config={"lr": 2})
    train(tmp_path, config={"lr": 2}, resume="never")


CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.helpers.training import train
from safetensors.torch import save_file
made, _ = train(Path(sys.argv[1]), epochs=60)
save_file(made.state_dict(), Path(sys.argv[1]) / "final.safetensors")
"""


@pytest.mark.faults
def test_killed_at_any_moment_and_resumed_ends_in_the_same_bits(tmp_path):
    from safetensors.torch import load_file

    here = str(Path(__file__).parents[2])
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


def test_methods_are_called_after_every_step_and_epoch():
    made, told = small_method(), []
    made.after_step = lambda share: told.append(share)

    def after_epoch(batches, generator):
        told.append([batch.num_nodes for batch in batches()])
        assert isinstance(generator, torch.Generator)

    made.after_epoch = after_epoch
    train(epochs=2, made=made, clusters=3)
    shares = [one for one in told if not isinstance(one, list)]
    assert shares == [0.0, 0.0, 0.0, 0.5, 0.5, 0.5]
    assert [sum(one) for one in told if isinstance(one, list)] == [150, 150]
