"""Mistakes that a user can fix: the command line shows them as one line, without a traceback."""

from __future__ import annotations

from pathlib import Path


class InputError(ValueError):
    """The input cannot be used; the message says what was given, what was expected and how to fix it."""


class DamagedError(InputError):
    """A file is cut short, changed, missing, or not of the expected format.

    Args:
        path: the file, or its folder if the file is unknown.
        problem: what is wrong with it.
        remedy: what the user can do about it.
    """

    def __init__(self, path: Path, problem: str, remedy: str = "") -> None:
        super().__init__(f"{path}: {problem}" + (f"; {remedy}" if remedy else ""))
        self.path, self.problem = path, problem
