"""`girl demo`: the main job on data that is already here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.table import Table

from girl.cli.app import OUT, say
from girl.cli.app import out as console


def demo(*, out: Annotated[Path, Parameter(group=OUT)] = Path("girl-demo")) -> None:
    """Learn representations of handwritten digits as a graph, and see what they are worth. Nothing is downloaded.

    1,797 images from scikit-learn become a nearest-neighbour graph; GIRL learns an embedding of its nodes without
    labels; a linear classifier then reads the digit off raw pixels, an untrained encoder and the embedding.

    Args:
        out: folder for the embeddings, the picture and the run.
    """
    from girl.api.demo import PROTOCOL, SPLITS, run_demo

    made = run_demo(out, console)
    table = Table("representation", "test accuracy", title=f"linear probe, {PROTOCOL}, {SPLITS} splits")
    for row in made.rows:
        table.add_row(row.representation, str(row.test))
    console.print(table)
    say(f"embeddings: {made.embeddings} (a row for each image)")
    say(f"picture: {made.picture}")
    say(f"report: {made.report} (opens in any browser)")
