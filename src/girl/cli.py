"""The command line. Typed functions whose signatures are the options; no logic."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, Group, Parameter
from rich.console import Console
from rich.table import Table

import girl
from girl.errors import InputError

app = App(
    name="girl",
    version=girl.__version__,
    help="""Graph representations by kernel regression (KR).

The question behind everything here is *how much of Y is a function of X?* Its answer, ρ(Y|X), is 0 when X determines
Y and the spread of Y when X says nothing about it.

Start with `girl demo`: no data needed, under a minute. Then ask the question of your own two files with `girl rho`.
""",
    help_format="markdown",
)
reproduce = App(name="reproduce", help="Run the paper's experiments again: numbers as JSON, figures as SVG and PNG.")
app.command(reproduce)

_RUN = Group("Running", sort_key=1)
_OUT = Group("Output", sort_key=2)
_DATA = Group("Data", sort_key=0)

_out = Console()


@app.command
def demo(*, out: Annotated[Path, Parameter(group=_OUT)] = Path("girl-demo")) -> None:
    """Show what KR measures: the synthetic experiments, where the truth is known. Under a minute, no data needed.

    Args:
        out: folder for the numbers and the pictures.
    """
    _synthetic(out, draws=20, samples=1000, seed=0, jobs=-1)


@app.command
def rho(
    x: Annotated[Path, Parameter(group=_DATA)],
    y: Annotated[Path, Parameter(group=_DATA)],
    /,
    *,
    x_columns: Annotated[list[str] | None, Parameter(group=_DATA, consume_multiple=True, negative="")] = None,
    y_columns: Annotated[list[str] | None, Parameter(group=_DATA, consume_multiple=True, negative="")] = None,
    seed: Annotated[int, Parameter(group=_RUN)] = 0,
    as_json: Annotated[bool, Parameter(name="--json", group=_OUT, negative="")] = False,
) -> None:
    """Estimate ρ(Y|X), the part of Y that is not a function of X, with its standard error.

    Row i of one file belongs to row i of the other. Files: .npy, .npz (scipy sparse), .csv, .tsv, .parquet.

    For example `girl rho x.npy y.csv`, or, of one table,
    `girl rho table.csv table.csv --x-columns age income --y-columns rent`.

    Args:
        x: what explains.
        y: what is to be explained.
        x_columns: columns of a table that are x; all of them if not given.
        y_columns: columns of a table that are y; all of them if not given.
        seed: fixes every random choice.
        as_json: print one JSON object instead of a table.
    """
    from girl.data.matrix import read_matrix
    from girl.kernel.estimate import estimate

    samples, targets = read_matrix(x, x_columns), read_matrix(y, y_columns)
    try:
        found = estimate(samples, targets, seed=seed)
    except ValueError as error:
        raise InputError(str(error).replace("x:", f"{x}:", 1).replace("targets[0]:", f"{y}:", 1)) from error
    spread = sum(found.spread) / len(found.spread)
    if as_json:
        value = {"rho": found.rho, "stderr": found.stderr, "spread": spread, "explained": found.explained}
        print(json.dumps({**value, "columns": found.columns, "rows": found.rows}))
        return
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_row("ρ(Y|X)", f"[bold]{found.rho:.4f} ± {found.stderr:.4f}[/bold]", "what x leaves open of y")
    table.add_row("spread of Y", f"{spread:.4f}", "ρ if x said nothing")
    table.add_row("explained", f"{found.explained:.1%}", "of the variance of y")
    table.add_row("rows", f"{found.rows:,}", "used" if found.rows == len(samples) else f"drawn from {len(samples):,}")
    _out.print(table)


@reproduce.command
def synthetic(
    *,
    out: Annotated[Path, Parameter(group=_OUT)] = Path("results"),
    draws: Annotated[int, Parameter(group=_RUN)] = 20,
    samples: Annotated[int, Parameter(group=_RUN)] = 1000,
    seed: Annotated[int, Parameter(group=_RUN)] = 0,
    jobs: Annotated[int, Parameter(group=_RUN)] = -1,
) -> None:
    """The 1-D table, the 100-D figure, the mutual-information figure, and independent X and Y in 1 to 256 dimensions.

    Writes OUT/synthetic.json and, in OUT/synthetic, the figures.

    Args:
        out: folder for the numbers and the pictures.
        draws: repetitions of each experiment.
        samples: rows in each draw.
        seed: fixes every draw.
        jobs: processes; -1 for one on each core. The numbers do not depend on it.
    """
    _synthetic(out, draws, samples, seed, jobs)


def _synthetic(out: Path, draws: int, samples: int, seed: int, jobs: int) -> None:
    from girl.experiments.synthetic import EXPERIMENTS, run
    from girl.files import write_json
    from girl.report.synthetic import draw_synthetic

    for name, given, least in (("--draws", draws, 1), ("--samples", samples, 10)):
        if given < least:
            raise InputError(f"{name}: given {given}, expected at least {least}")
    result = run(draws, samples, seed, jobs)
    write_json(out / "synthetic.json", result)
    pictures = draw_synthetic(result, out / "synthetic")
    table = Table("experiment", "published estimator", "girl.rho", "ratio", title="mean absolute error")
    for name in EXPERIMENTS:
        error = result[name]["mean_absolute_error"]
        ratio = result[name]["ratio_to_paper"]
        table.add_row(name, f"{error['paper']:.4f}", f"{error['ours']:.4f}", f"{ratio:.3f}")
    _out.print(table)
    _out.print(f"{result['seconds']} s. Numbers: {out / 'synthetic.json'}", soft_wrap=True)
    for picture in pictures:
        _out.print(f"picture: {picture}", soft_wrap=True)


def main() -> None:
    """The entry point: a user's mistake is one line on standard error and exit code 2."""
    try:
        app()
    except InputError as error:
        Console(stderr=True).print(f"[red]girl:[/red] {error}", soft_wrap=True, highlight=False)
        sys.exit(2)


if __name__ == "__main__":
    main()
