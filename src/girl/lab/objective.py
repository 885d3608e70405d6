"""What each part of the objective is worth: the default recipe with one thing changed at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from girl.errors import InputError
from girl.lab.cells import Cell
from girl.training.recipe import Recipe

#: Two graphs of sparse features, one of dense ones, one of products, and one whose neighbours are not alike.
DATASETS = ("cora", "citeseer", "pubmed", "photo", "texas")

#: By name, what differs from the default recipe.
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "untrained": {},
    "in-sample residuals": {"residual": "insample"},
    "in-sample, exact kernel": {"residual": "insample", "kernel": "exact", "rows": 1024},
    "published targets": {"targets": ("input", "neighbor"), "target_rank": 0},
    "features as the only target": {"targets": ("features",)},
    "smoothed features as the only target": {"targets": ("smooth",)},
    "no features hidden": {"dropout": 0.0},
    "targets not whitened": {"whiten": 0.0},
    "targets fully whitened": {"whiten": 1.0},
    "features not kept": {"keep": 0.0},
    "features kept at full spread": {"keep": 1.0},
}


def cells(names: Sequence[str], seeds: int) -> list[Cell]:
    """All cells of the table, seed by seed."""
    for name in names:
        if name not in DATASETS:
            raise InputError(f"dataset: given {name!r}, expected one of {', '.join(DATASETS)}")
    return [
        Cell(name, variant, seed, Recipe().with_values(values).with_seed(seed).to_dict())
        for seed in range(seeds)
        for name in names
        for variant, values in VARIANTS.items()
    ]
