"""Training under torchrun itself: real processes, one of which is killed."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "processes.md"


@pytest.fixture
def environment(tmp_path):
    return {**os.environ, "GIRL_DATA": str(tmp_path / "data"), "OMP_NUM_THREADS": "1"}


def blocks(language: str) -> str:
    """The page's first block in a language."""
    (found, *_) = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    return found


def call(folder: Path) -> list[str]:
    """The page's command, writing to a folder, with a restart."""
    program, *rest, out = shlex.split(blocks("sh"))
    assert (program, rest[-1], out) == ("torchrun", "--out", "runs/two")
    return [sys.executable, "-m", "torch.distributed.run", "--max-restarts", "1", *rest, str(folder)]


def workers_of(parent: int) -> list[int]:
    """The processes that a process started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state = path.read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(state[1]) == parent:
            found.append(int(path.parent.name))
    return sorted(found)


def test_a_killed_process_comes_back_and_the_run_ends_where_it_would_have(tmp_path, environment):
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    done = subprocess.run(call(undisturbed), env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("12 epochs in") == 1  # the first process speaks for all
    run = subprocess.Popen(call(killed), env=environment, stderr=subprocess.PIPE, text=True)
    limit = time.monotonic() + 200
    while not list((killed / "checkpoints").glob("checkpoint-*")):
        assert run.poll() is None, run.stderr
        assert time.monotonic() < limit
        time.sleep(0.01)
    victim = workers_of(run.pid)[-1]
    os.kill(victim, signal.SIGKILL)
    _, errors = run.communicate(timeout=300)
    assert run.returncode == 0, errors
    # It was killed in training, not after it, and torchrun started all processes again.
    assert "SIGKILL" in errors or "exitcode: -9" in errors
    first, second = (json.loads((folder / "history.json").read_text()) for folder in (undisturbed, killed))
    assert first["epochs"] == second["epochs"]
    assert np.array_equal(*(np.load(folder / "embeddings.npy") for folder in (undisturbed, killed)))


def test_the_page_s_loop_runs(snippet):
    snippet("python", blocks("python"))
