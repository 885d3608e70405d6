"""The application that every command joins, its option groups, and the console they print to."""

from __future__ import annotations

from cyclopts import App, Group
from rich.console import Console

import girl

app = App(
    name="girl",
    version=girl.__version__,
    help="""Graph representations by kernel regression (KR).

Start with `girl demo`: no data needed, under two minutes. Then `girl embed edges.csv --nodes nodes.csv` for your own
graph: vectors, and a report that says how good they are. `girl datasets` lists named graphs, `girl pretrain` learns
representations of one of them without labels, and `girl evaluate` compares them with their controls.

The question behind everything here is *how much of Y is a function of X?* Its answer, ρ(Y|X), is 0 when X determines
Y and the spread of Y when X says nothing about it; `girl rho` asks it of your own two files.
""",
    help_format="markdown",
    suppress_keyboard_interrupt=False,  # what was kept is said at the end
)

DATA = Group("Data", sort_key=0)
RUN = Group("Running", sort_key=1)
OUT = Group("Output", sort_key=2)

out = Console()


def say(text: str) -> None:
    """A line as it is: a path may hold brackets, and is not cut at the end of the screen."""
    out.print(text, soft_wrap=True, highlight=False, markup=False)
