"""The command line. Typed functions whose signatures are the options, a file for each family of commands; no logic."""

from __future__ import annotations

import sys

from rich.console import Console

from girl.cli import demo, rho, synthetic  # noqa: F401  (importing a file registers its commands)
from girl.cli.app import app
from girl.errors import InputError

__all__ = ["app", "main"]


def main() -> None:
    """The entry point: a user's mistake is one line on standard error and exit code 2."""
    try:
        app()
    except InputError as error:
        Console(stderr=True).print(f"[red]girl:[/red] {error}", soft_wrap=True, highlight=False)
        sys.exit(2)
