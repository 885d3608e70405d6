"""The application that all commands belong to, its groups of options, and its console."""

from __future__ import annotations

from cyclopts import App, Group
from rich.console import Console

import girl
from girl.console import print_line

app = App(
    name="girl",
    version=girl.__version__,
    help="""Graph embeddings without labels, by kernel regression (KR).

Start with `girl demo`: it needs no data and takes under two minutes. Then `girl embed edges.csv --nodes nodes.csv`
embeds your own graph and writes a report on the quality of the embedding. `girl datasets` lists named graphs, `girl
pretrain` embeds one of them, and `girl evaluate` compares the embedding with its baselines.

All of it rests on one number, ρ(Y|X): how much of Y is *not* a function of X. It is 0 if X determines Y, and the
standard deviation of Y if X says nothing about Y. `girl rho` computes it for your own files.
""",
    help_format="markdown",
    suppress_keyboard_interrupt=False,  # `main` prints how to continue
)

DATA = Group("Data", sort_key=0)
RUN = Group("Running", sort_key=1)
OUT = Group("Output", sort_key=2)

console = Console()


def say(text: str) -> None:
    """Print a line as it is."""
    print_line(console, text)
