"""`girl reproduce synthetic`: the experiments where the truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.table import Table

from girl.cli.app import OUT, RUN, console, say
from girl.errors import InputError


def synthetic(
    *,
    out: Annotated[Path, Parameter(group=OUT)] = Path("results"),
    draws: Annotated[int, Parameter(group=RUN)] = 20,
    samples: Annotated[int, Parameter(group=RUN)] = 1000,
    seed: Annotated[int, Parameter(group=RUN)] = 0,
    jobs: Annotated[int, Parameter(group=RUN)] = -1,
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
    from girl.files import write_json
    from girl.lab.synthetic import EXPERIMENTS, run
    from girl.lab.tables.synthetic import draw_synthetic

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
    console.print(table)
    say(f"{result['seconds']} s. Numbers: {out / 'synthetic.json'}")
    for picture in pictures:
        say(f"picture: {picture}")
