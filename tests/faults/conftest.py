"""What the tests of faults start from."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.helpers.faults import LOADED, child, code_of, nothing


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
        started = context.Process(target=child, args=(words, before, tmp_path, places))
        started.start()
        return started

    return run


@pytest.fixture
def run(start: Callable[..., BaseProcess]) -> Callable[..., int]:
    """The exit code of `girl` with some arguments."""

    def ended(arguments: str | Sequence[str], before: Callable[[], None] = nothing) -> int:
        return code_of(start(arguments, before))

    return ended


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
