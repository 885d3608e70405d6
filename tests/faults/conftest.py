"""Commands in processes of their own that may be killed at any moment, without importing torch anew for each."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import polars as pl
import pytest

#: The exit code of a process that was killed.
KILLED = -signal.SIGKILL

#: What is imported once, by the process that all others are forks of. It runs nothing: threads do not survive a fork.
LOADED = [
    "girl.cli",
    "girl.cli.embed",
    "girl.cli.pretrain",
    "girl.cli.train",
    "girl.embedding",
    "girl.evaluate.supervised",
    "girl.report.page",
    "girl.train.kept",
]


def nothing() -> None:
    """What most commands do before they begin."""


def _child(arguments: Sequence[str], before: Callable[[], None], folder: Path, environment: dict[str, str]) -> None:
    from girl.cli import main

    os.environ.update(environment)
    os.chdir(folder)
    code = 70
    with Path("said.txt").open("w", encoding="utf-8") as sys.stdout:
        sys.stderr = sys.stdout
        warnings.simplefilter("default")
        try:
            before()
            main(arguments)
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0
        except BaseException:
            traceback.print_exc()
    os._exit(code)


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., BaseProcess]:
    """Starts `girl` with some arguments in a process of its own, in ``tmp_path``.

    What it says goes to ``said.txt``; ``before`` is called in the new process first.
    """
    monkeypatch.chdir(tmp_path)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LOADED)
    places = {"GIRL_DATA": str(tmp_path / "data"), "OMP_NUM_THREADS": "1"}

    def run(arguments: str | Sequence[str], before: Callable[[], None] = nothing) -> BaseProcess:
        words = arguments.split() if isinstance(arguments, str) else list(arguments)
        child = context.Process(target=_child, args=(words, before, tmp_path, places))
        child.start()
        return child

    return run


@pytest.fixture
def run(start: Callable[..., BaseProcess]) -> Callable[..., int]:
    """The exit code of `girl` with some arguments."""

    def ended(arguments: str | Sequence[str], before: Callable[[], None] = nothing) -> int:
        return code_of(start(arguments, before))

    return ended


def code_of(child: BaseProcess) -> int:
    """The exit code of a process, when it has ended."""
    child.join(120)
    assert child.exitcode is not None, "it hangs"
    return child.exitcode


def said(folder: Path) -> str:
    """What the last command said."""
    return " ".join((folder / "said.txt").read_text(encoding="utf-8").split())


def left_behind(folder: Path) -> list[str]:
    """Files that are no results: of writing that did not end."""
    return [str(path.relative_to(folder)) for path in folder.rglob("*.part")]


@pytest.fixture
def tables(tmp_path: Path) -> tuple[str, str]:
    """An edge list and a node table of 300 nodes."""
    rng = np.random.default_rng(0)
    group = np.arange(300) % 3
    source, target = rng.integers(300, size=(2, 2000))
    near = (group[source] == group[target]) | (rng.random(2000) < 0.2)
    pl.DataFrame({"source": source[near], "target": target[near]}).write_csv(tmp_path / "edges.csv")
    columns = {f"x{k}": rng.normal(size=300) + group for k in range(4)}
    pl.DataFrame({"id": np.arange(300), **columns, "group": group}).write_csv(tmp_path / "nodes.csv")
    return "edges.csv", "nodes.csv"
