"""The command line: typed functions whose signatures are the options. Python users have the same functions."""

from __future__ import annotations

import ast
import errno
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import resources
from typing import NoReturn

from rich.console import Console

from girl.cli.app import app, console
from girl.errors import InputError

__all__ = ["app", "main"]


def _help(module: str, function: str) -> str:
    """A command's docstring up to its arguments, read without an import: `girl --help` does not load torch."""
    package, _, name = module.rpartition(".")
    tree = ast.parse((resources.files(package) / f"{name}.py").read_text(encoding="utf-8"))
    definition = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function)
    return (ast.get_docstring(definition) or "").split("\n\nArgs:")[0]


#: Commands, by the function behind each. Names only: a module is imported when its command runs.
_COMMANDS = (
    "girl.cli.demo:demo",
    "girl.cli.embed:embed",
    "girl.cli.embed:report",
    "girl.cli.judge:judge",
    "girl.cli.pretrain:pretrain",
    "girl.cli.pretrain:evaluate",
    "girl.lab.commands.search:search",
    "girl.cli.methods:methods",
    "girl.cli.train:train",
    "girl.cli.train:diagnose",
    "girl.cli.rho:rho",
    "girl.cli.doctor:doctor",
)
for _command in _COMMANDS:
    app.command(_command, help=_help(*_command.split(":")))
app.command(
    "girl.lab.commands.reproduce:reproduce",
    help="Run the experiments again: numbers as JSON, figures as SVG and PNG.",
)
app.command(
    "girl.cli.datasets:datasets",
    help="The named graphs: list them, fetch or export one, or make a stand-in for one.",
)


def main(tokens: Sequence[str] | None = None) -> None:
    """The entry point: a user's mistake is one line on standard error and exit code 2.

    Args:
        tokens: what follows `girl` on the command line; by default what the shell gave.
    """
    tokens = sys.argv[1:] if tokens is None else list(tokens)
    # Waiting threads must not spin: beside three busy programs on two cores, a small graph trained at a third of the
    # speed. OpenMP reads this when torch is first imported, which is later.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # A warning is shown without its line of code.
    warnings.formatwarning = lambda message, *_, **__: f"note: {message}\n"
    if int(os.environ.get("RANK", "0")):  # only the main process prints
        console.quiet = True
    try:
        app(tokens)
    except InputError as error:
        _fail(str(error), 2)
    except OSError as error:  # a file that cannot be written, a full disk, a folder in the place of a file
        full = f"; free some space, or use another disk{_resume_hint(tokens)}" if error.errno == errno.ENOSPC else ""
        _fail(f"{error.filename or 'file'}: {error.strerror or error}{full}", 2)
    except KeyboardInterrupt:
        _fail(f"interrupted{_resume_hint(tokens)}", 130)


def _resume_hint(tokens: Sequence[str]) -> str:
    return "; run the same command again to continue" if tokens and tokens[0] in _RESUMABLE else ""


def _fail(text: str, code: int) -> NoReturn:
    errors = Console(stderr=True)
    errors.print("[red]girl:[/red] ", end="")
    errors.print(text, soft_wrap=True, highlight=False, markup=False)  # a name may contain brackets
    sys.exit(code)


#: Commands that continue an interrupted run.
_RESUMABLE = ("embed", "pretrain", "reproduce", "search", "train")
