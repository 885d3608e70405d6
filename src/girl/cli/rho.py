"""`girl rho`: how much one file says about another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.table import Table

from girl.cli.app import DATA, OUT, RUN, console
from girl.errors import InputError


def rho(
    x: Annotated[Path, Parameter(group=DATA)],
    y: Annotated[Path, Parameter(group=DATA)],
    /,
    *,
    x_columns: Annotated[list[str] | None, Parameter(group=DATA, consume_multiple=True, negative="")] = None,
    y_columns: Annotated[list[str] | None, Parameter(group=DATA, consume_multiple=True, negative="")] = None,
    seed: Annotated[int, Parameter(group=RUN)] = 0,
    as_json: Annotated[bool, Parameter(name="--json", group=OUT, negative="")] = False,
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
        seed: seed of every random choice.
        as_json: print one JSON object instead of a table.
    """
    from girl.kernel.estimate import estimate_rho
    from girl.tables import read_matrix

    samples, targets = read_matrix(x, x_columns), read_matrix(y, y_columns)
    try:
        result = estimate_rho(samples, targets, random_state=seed)
    except ValueError as error:
        raise InputError(str(error).replace("x:", f"{x}:", 1).replace("targets[0]:", f"{y}:", 1)) from error
    std = sum(result.std) / len(result.std)
    if as_json:
        value = {"rho": result.rho, "stderr": result.stderr, "std": std, "explained": result.explained_variance}
        print(json.dumps({**value, "columns": result.columns, "rows": result.rows}))
        return
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_row(
        "ρ(Y|X)", f"[bold]{result.rho:.4f} ± {result.stderr:.4f}[/bold]", "how much of y is not a function of x"
    )
    table.add_row("standard deviation of Y", f"{std:.4f}", "ρ if x says nothing about y")
    table.add_row("explained", f"{result.explained_variance:.1%}", "of the variance of y")
    table.add_row("rows", f"{result.rows:,}", "used" if result.rows == len(samples) else f"drawn from {len(samples):,}")
    console.print(table)
