"""`girl demo`: the main job on data that is already here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from girl.cli.app import OUT
from girl.cli.synthetic import synthetic


def demo(*, out: Annotated[Path, Parameter(group=OUT)] = Path("girl-demo")) -> None:
    """Show what KR measures: the synthetic experiments, where the truth is known. Under a minute, no data needed.

    Args:
        out: folder for the numbers and the pictures.
    """
    synthetic(out=out)
