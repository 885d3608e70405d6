"""`girl demo`: the main job on data that comes with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.table import Table

from girl.cli.app import OUT, console, say


def demo(*, out: Annotated[Path, Parameter(group=OUT)] = Path("girl-demo")) -> None:
    """Embed a graph of handwritten digits, and compare the embedding with its baselines. Nothing is downloaded.

    1,797 images from scikit-learn become a nearest-neighbour graph, and GIRL embeds its nodes without labels. A linear
    classifier then predicts the digit from raw pixels, from an untrained encoder and from the embedding.

    Args:
        out: folder for the embeddings, the picture and the run.
    """
    from girl.api.demo import PROTOCOL, SPLITS, run_demo

    result = run_demo(out, console)
    table = Table("representation", "test accuracy", title=f"linear probe, {PROTOCOL}, {SPLITS} splits")
    for row in result.rows:
        table.add_row(row.representation, str(row.test))
    console.print(table)
    say(f"embeddings: {result.embeddings} (a row for each image)")
    say(f"picture: {result.picture}")
    say(f"report: {result.report} (opens in any browser)")
