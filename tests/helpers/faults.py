"""Commands in processes of their own that may be killed at any moment, without importing torch anew for each."""

from __future__ import annotations

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

#: The exit code of a process that was killed.
KILLED = -signal.SIGKILL

#: What is imported once, by the process that all others are forks of. It runs nothing: threads do not survive a fork.
LOADED = [
    "girl.cli",
    "girl.cli.embed",
    "girl.cli.pretrain",
    "girl.cli.train",
    "girl.api.embed",
    "girl.training.train_on",
    "girl.reporting.page",
    "girl.training.cached_batch",
]


def nothing() -> None:
    """What most commands do before they begin."""


def child(arguments: Sequence[str], before: Callable[[], None], folder: Path, environment: dict[str, str]) -> None:
    """`girl` with some arguments, in a process of its own, which ends with it."""
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
