"""`girl search`: a recipe for a dataset, chosen on validation nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from girl.cli.app import DATA, OUT, RUN, console, say
from girl.errors import InputError


def search(
    dataset: Annotated[str, Parameter(group=DATA)],
    /,
    *,
    trials: Annotated[int, Parameter(group=RUN)] = 30,
    seeds: Annotated[int, Parameter(group=RUN)] = 1,
    out: Annotated[Path, Parameter(group=OUT)] = Path("results"),
    data_root: Annotated[Path | None, Parameter(group=DATA)] = None,
    mirror: Annotated[Path | None, Parameter(group=DATA)] = None,
) -> None:
    """Search a recipe for a named graph by optuna; test nodes are never looked at.

    Writes every trial to OUT/search/DATASET.json as it ends, and the best one to OUT/search/DATASET.toml, for
    `girl pretrain DATASET --recipe OUT/search/DATASET.toml`. Interrupted, the same command goes on.

    Args:
        dataset: a name that `girl datasets` lists.
        trials: trials in all, those of earlier sittings included.
        seeds: seeds of each trial.
        out: folder for the trials and the recipe.
        data_root: where datasets are kept; by default GIRL_DATA or the user's cache folder.
        mirror: a folder of raw files to copy from instead of downloading; by default GIRL_MIRROR.
    """
    from girl import datasets

    try:
        from girl.lab import search as experiment
    except ModuleNotFoundError as error:
        raise InputError("search: optuna is not installed, expected `pip install girl[search]`") from error
    from girl.files import write_text
    from girl.lab.nodes import PROTOCOLS
    from girl.training.recipe import Recipe

    found = datasets.load(dataset, data_root, mirror)
    if found.name not in PROTOCOLS:
        raise InputError(f"dataset: given {found.name!r}, expected one of the node tables: {', '.join(PROTOCOLS)}")
    for name, given in (("--trials", trials), ("--seeds", seeds)):
        if given < 1:
            raise InputError(f"{name}: given {given}, expected at least 1")
    folder = out / "search"
    best = experiment.search(found, trials, seeds, folder / f"{found.name}.json", console)
    write_text(folder / f"{found.name}.toml", experiment.toml_of(Recipe().with_values(best["recipe"])))
    scores = "  ".join(f"{name} {100 * score:.2f}" for name, score in best["by_protocol"].items())
    say(f"best validation: {scores}. Recipe: {folder / f'{found.name}.toml'}")
