"""The ablation: kind of layer × depth 1 to 5, untrained and trained by GIRL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from girl.errors import InputError
from girl.lab.cells import Cell
from girl.nn.convolutions import Conv
from girl.training.recipe import Recipe

DATASETS = ("cora", "citeseer", "pubmed", "photo")
CONVS: tuple[Conv, ...] = ("gcn", "gatv2", "graphconv", "sage")
DEPTHS = (1, 2, 3, 4, 5)


#: METIS parts and epochs, about twenty steps in all: attention over five layers of a whole large graph is slow.
TRAINING = {"cora": (0, 20), "citeseer": (0, 20), "pubmed": (8, 3), "photo": (3, 7)}


def recipe_of(dataset: str, conv: Conv, depth: int) -> Recipe:
    """The default recipe with another encoder. Nothing is chosen: a kind and depth stand for themselves.

    Deep encoders are judged by their last layer, as in the paper. The width is 256.
    """
    recipe = Recipe()
    clusters, epochs = TRAINING[dataset]
    return replace(
        recipe,
        encoder=replace(recipe.encoder, conv=conv, layers=depth, hidden=256, keep=0.0),
        train=replace(recipe.train, clusters=clusters, epochs=epochs),
    )


def name_of(conv: str, depth: int, trained: bool) -> str:
    """The method's name in a cell."""
    return f"{conv} {depth} {'girl' if trained else 'untrained'}"


def cells(names: Sequence[str], seeds: int) -> list[Cell]:
    """All cells of the figure, seed by seed."""
    for name in names:
        if name not in DATASETS:
            raise InputError(f"dataset: given {name!r}, expected one of {', '.join(DATASETS)}")
    return [
        Cell(name, name_of(conv, depth, trained), seed, recipe_of(name, conv, depth).with_seed(seed).to_dict())
        for seed in range(seeds)
        for name in names
        for conv in CONVS
        for depth in DEPTHS
        for trained in (False, True)
    ]
