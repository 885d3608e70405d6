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
    """Search a recipe for a named graph by optuna; test nodes are not used.

    Writes every trial to OUT/search/DATASET.journal (optuna's journal) when it ends, and the best recipe to
    OUT/search/DATASET.toml, for `girl pretrain DATASET --recipe OUT/search/DATASET.toml`. Interrupted, the same command
    goes on.

    Args:
        dataset: a name that `girl datasets` lists.
        trials: number of trials in all, those of an interrupted command included.
        seeds: number of seeds of each trial.
        out: folder for the trials and the recipe.
        data_root: where datasets are kept; by default GIRL_DATA or the user's cache folder.
        mirror: a folder of raw files to copy from instead of downloading; by default GIRL_MIRROR.
    """
    from girl import datasets

    try:
        from girl.lab.search import search as run_search
        from girl.lab.search import toml_of
    except ModuleNotFoundError as error:
        raise InputError("search: optuna is not installed, expected `pip install girl[search]`") from error
    from girl.files import write_text
    from girl.lab.nodes import PROTOCOLS
    from girl.training.recipe import Recipe

    graph = datasets.load(dataset, data_root, mirror)
    if graph.name not in PROTOCOLS:
        raise InputError(f"dataset: given {graph.name!r}, expected one of the node tables: {', '.join(PROTOCOLS)}")
    for name, given in (("--trials", trials), ("--seeds", seeds)):
        if given < 1:
            raise InputError(f"{name}: given {given}, expected at least 1")
    recipe_file = out / "search" / f"{graph.name}.toml"
    best = run_search(graph, trials, seeds, recipe_file.with_suffix(".journal"), console)
    write_text(recipe_file, toml_of(Recipe().with_values(best["recipe"])))
    scores = "  ".join(f"{name} {100 * score:.2f}" for name, score in best["by_protocol"].items())
    say(f"best validation: {scores}. Recipe: {recipe_file}")
