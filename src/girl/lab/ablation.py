"""The ablation: type of layer × depth 1 to 5, untrained and trained by GIRL."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from girl.lab.cells import Cell
from girl.lab.experiment import CellExperiment, Count, DatasetNames
from girl.lab.nodes import compute_on_nodes
from girl.nn.convolutions import Conv
from girl.training.recipe import Recipe

CONVS: tuple[Conv, ...] = ("gcn", "gatv2", "graphconv", "sage")
DEPTHS = (1, 2, 3, 4, 5)

#: METIS parts and epochs, about twenty steps in all: attention over five layers of a large graph is slow.
TRAINING = {"cora": (0, 20), "citeseer": (0, 20), "pubmed": (8, 3), "photo": (3, 7)}


@dataclass(frozen=True, kw_only=True)
class Ablation(CellExperiment):
    """Types of layer (GCN, GATv2, GraphConv, SAGE) × depth 1 to 5, untrained and trained by GIRL.

    Writes OUT/ablation/DATASET.json after every cell; interrupted, the same command goes on.
    """

    name = "ablation"
    available = tuple(TRAINING)

    datasets: DatasetNames = tuple(TRAINING)
    """which datasets."""
    seeds: Count = 3
    """number of seeds of each encoder."""

    def recipes(self, dataset: str, seed: int) -> dict[str, Recipe]:
        """The default recipe with other encoders. Nothing is chosen: each type and depth is shown as it is.

        The embedding is the last layer alone, as in the paper. The width is 256.
        """
        recipes, base = {}, Recipe.encoder_default()
        clusters, epochs = TRAINING[dataset]
        train = replace(base.train, clusters=clusters, epochs=epochs, seed=seed)
        for conv in CONVS:
            for depth in DEPTHS:
                encoder = replace(base.encoder, conv=conv, layers=depth, hidden=256, keep=0.0)
                for trained in (False, True):
                    recipes[method_name(conv, depth, trained)] = replace(base, encoder=encoder, train=train)
        return recipes

    def compute(self, cell: Cell) -> dict[str, Any]:
        """As the node tables do."""
        return compute_on_nodes(cell, self.load(cell.dataset))

    def render(self, results: Path, folder: Path) -> dict[str, str]:
        """Accuracy over depth."""
        from girl.lab.tables import ablation

        return ablation.render(self.current(results), folder)


def method_name(conv: str, depth: int, trained: bool) -> str:
    """The method of a cell: ``gcn 2 girl``, ``gcn 2 untrained``."""
    return f"{conv} {depth} {'girl' if trained else 'untrained'}"
