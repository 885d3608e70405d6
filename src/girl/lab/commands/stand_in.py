"""`girl datasets make-stand-in`: a random graph in the place of a dataset that is not available."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from girl.cli.app import DATA, RUN, say


def make_stand_in(
    name: Annotated[str, Parameter(group=DATA)],
    /,
    *,
    scale: Annotated[float, Parameter(group=RUN)] = 1.0,
    seed: Annotated[int, Parameter(group=RUN)] = 0,
    data_root: Annotated[Path | None, Parameter(group=DATA)] = None,
) -> None:
    """Put a random graph of the same shape and format in the place of a dataset that is not available.

    Everything runs on it and says that it is a stand-in; its scores mean nothing. Real data is never overwritten.

    Args:
        name: wikics, ppi, reddit, reddit2, ogbn-arxiv or ogbn-products.
        scale: fraction of the nodes and edges, up to 1.
        seed: fixes every random choice.
        data_root: folder of fetched data; GIRL_DATA, or the user's cache folder, if not given.
    """
    from girl.lab.stand_in import make_stand_in as make

    say(f"stand-in: {make(name, data_root, scale=scale, seed=seed)}")
