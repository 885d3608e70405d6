"""The application that every command joins, its option groups, and the console they print to."""

from __future__ import annotations

from cyclopts import App, Group
from rich.console import Console

import girl

app = App(
    name="girl",
    version=girl.__version__,
    help="""Graph representations by kernel regression (KR).

Start with `girl demo`: no data needed, under two minutes. Then `girl datasets` for the named graphs, `girl pretrain` to
learn representations of one of them without labels, and `girl evaluate` to see how good they are.

The question behind everything here is *how much of Y is a function of X?* Its answer, ρ(Y|X), is 0 when X determines
Y and the spread of Y when X says nothing about it; `girl rho` asks it of your own two files.
""",
    help_format="markdown",
)
reproduce = App(name="reproduce", help="Run the paper's experiments again: numbers as JSON, figures as SVG and PNG.")
app.command(reproduce)

DATA = Group("Data", sort_key=0)
RUN = Group("Running", sort_key=1)
OUT = Group("Output", sort_key=2)

out = Console()
