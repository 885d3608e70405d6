"""The command line. Typed functions whose signatures are the options, a file for each family of commands; no logic."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console

from girl.cli.app import app, reproduce
from girl.errors import InputError

__all__ = ["app", "main"]

# A file is imported when its command is called: `girl --help` does not wait for the graph libraries.
for _command, _help in {
    "demo:demo": "Learn representations of handwritten digits as a graph, and see what they are worth.",
    "embed:embed": "Embed your own graph: an edge list and a node table in, vectors and a report out.",
    "embed:report": "Write the report on a run: one HTML file with a map of the embedding.",
    "datasets:datasets": "The named graphs: list them, fetch one, or make a stand-in for one.",
    "pretrain:pretrain": "Learn representations of a named graph without labels.",
    "pretrain:evaluate": "Probe a run's representations beside raw features and the untrained encoder.",
    "search:search": "Search a recipe for a named graph, on validation nodes only.",
    "rho:rho": "Estimate ρ(Y|X), the part of Y that is not a function of X.",
}.items():
    app.command(f"girl.cli.{_command}", help=_help)
for _command, _help in {
    "synthetic:synthetic": "The synthetic experiments, where the truth is known.",
    "reproduce:nodes": "The node tables: controls, untrained encoders, GIRL as published, by default and tuned.",
    "reproduce:ablation": "Kinds of layer and depths, untrained and trained.",
    "reproduce:objective": "The default objective with one part changed at a time.",
}.items():
    reproduce.command(f"girl.cli.{_command}", help=_help)


def main(tokens: Sequence[str] | None = None) -> None:
    """The entry point: a user's mistake is one line on standard error and exit code 2.

    Args:
        tokens: what follows `girl` on the command line; by default what the shell gave.
    """
    try:
        app(tokens)
    except InputError as error:
        Console(stderr=True).print(f"[red]girl:[/red] {error}", soft_wrap=True, highlight=False)
        sys.exit(2)
    except KeyboardInterrupt:
        Console(stderr=True).print("[red]girl:[/red] interrupted; the same command goes on from the last checkpoint")
        sys.exit(130)
