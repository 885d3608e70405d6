"""SIGKILL in training, saving and embedding: nothing is lost beyond the last checkpoint, and no half file stays."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from girl.files import replacing
from tests.helpers.faults import KILLED, code_of, left_behind

PRETRAIN = "pretrain digits --hidden 16 --epochs 9 --save-every 1 --clusters 4 --dropout 0.3 --out"
TRAIN = "train digits --depth 3 --hidden 16 --epochs 6 --save-every 1 --clusters 4 --regularizer kr --out"


def results(folder: Path) -> dict[str, bytes]:
    """The files of a run, but for the time that it took."""
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name not in ("history.json", "report.html")
    }


@pytest.mark.parametrize("command", [PRETRAIN, TRAIN])
def test_killed_at_random_moments_a_run_ends_where_it_would_have(start, tmp_path, command):
    words = command.split()
    assert code_of(start("methods")) == 0  # the first process waits for imports
    began = time.monotonic()
    assert code_of(start([*words, "undisturbed"])) == 0
    took = time.monotonic() - began
    draw, kills = random.Random(1), 0
    for _ in range(4):
        child = start([*words, "killed"])
        time.sleep(draw.uniform(0.1, 0.6) * took)
        child.kill()
        if (code := code_of(child)) == 0:
            break
        assert code == KILLED
        kills += 1
    else:
        assert code_of(start([*words, "killed"])) == 0
    assert kills
    assert results(tmp_path / "killed") == results(tmp_path / "undisturbed")
    assert not left_behind(tmp_path)


def die_at(moment: int) -> None:
    """Die at the given one of the moments at which a file takes its place: before it does, or right after."""
    count, plain = 0, Path.replace

    def replace(self: Path, target: Path) -> Path:
        nonlocal count
        if count == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        done = plain(self, target)
        if count + 1 == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        count += 2
        return done

    Path.replace = replace


@pytest.mark.parametrize("kind", ["embed", "pretrain"])
def test_killed_at_any_moment_of_saving(run, tables, tmp_path, kind):
    command = ["pretrain", "digits", "--hidden", "8", "--epochs", "2", "--save-every", "1", "--out"]
    if kind == "embed":
        command = ["embed", tables[0], "--nodes", tables[1], "--label", "group", "--hidden", "8", "--epochs", "2"]
        command += ["--out", "vectors.parquet", "--run"]
    assert run([*command, "undisturbed"]) == 0
    expected, moment = results(tmp_path / "undisturbed"), 0
    vectors = pl.read_parquet("vectors.parquet") if kind == "embed" else np.load("undisturbed/embeddings.npy")
    while (code := run([*command, "killed"], partial(die_at, moment))) == KILLED:
        for path in (tmp_path / "killed").rglob("*.json"):
            assert path.stat().st_size  # whatever has its name is whole
        moment += 1
    assert code == 0
    assert moment > 4
    found = pl.read_parquet("vectors.parquet") if kind == "embed" else np.load("killed/embeddings.npy")
    assert found.equals(vectors) if kind == "embed" else np.array_equal(found, vectors)
    assert results(tmp_path / "killed") == expected
    assert not left_behind(tmp_path)


def write(path: Path, text: str) -> None:
    with replacing(path) as beside:
        beside.write_text(text)


def test_what_another_process_is_writing_is_left_alone(tmp_path):
    path = tmp_path / "a.json"
    with replacing(path) as one:
        one.write_text("1")
        child = multiprocessing.get_context("spawn").Process(target=write, args=(path, "2"))
        child.start()
        assert code_of(child) == 0
        assert path.read_text() == "2"
        assert one.read_text() == "1"
    assert path.read_text() == "1"
