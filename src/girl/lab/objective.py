"""What each part of the objective is worth: the recipe encoder with one thing changed at a time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from girl.lab.cells import Cell
from girl.lab.experiment import CellExperiment, Count, DatasetNames
from girl.lab.nodes import compute_on_nodes
from girl.training.recipe import Recipe

#: Two graphs with sparse features, one with dense ones, one of products, and one that is heterophilic.
DATASETS = ("cora", "citeseer", "pubmed", "photo", "texas")

#: By name, what differs from the recipe encoder.
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


@dataclass(frozen=True, kw_only=True)
class Objective(CellExperiment):
    """The recipe encoder with one part changed at a time: residuals, targets, hidden features, whitening.

    Writes OUT/objective/DATASET.json after every cell; interrupted, the same command goes on.
    """

    name = "objective"
    available = DATASETS

    datasets: DatasetNames = DATASETS
    """which datasets."""
    seeds: Count = 3
    """number of seeds of each variant."""

    def recipes(self, dataset: str, seed: int) -> dict[str, Recipe]:
        """The variants."""
        return {name: Recipe.encoder_default().with_values(values).with_seed(seed) for name, values in VARIANTS.items()}

    def compute(self, cell: Cell) -> dict[str, Any]:
        """As the node tables do."""
        return compute_on_nodes(cell, self.load(cell.dataset))

    def render(self, results: Path, folder: Path) -> dict[str, str]:
        """The differences to the default."""
        from girl.lab.tables import objective

        return objective.render(self.current(results))
