"""The tables on sets of graphs: bags of nodes, untrained encoders, GIRL and the methods that it is compared with.

Training sees all graphs and no label; the embedding of seed s is scored on the ten folds of shuffle s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from girl import splits
from girl.cli.app import RUN
from girl.datasets.dataset import NodeDataset
from girl.evaluation.probe import Kind
from girl.evaluation.scores import baseline_representations, score_splits
from girl.lab.cells import Cell
from girl.lab.comparison import Comparison
from girl.lab.experiment import Count, DatasetNames, several
from girl.lab.measured_training import train_measured
from girl.splits import FOLDS
from girl.training.batch import make_batch
from girl.training.recipe import Recipe, method_recipe
from girl.training.untrained import embed_untrained

DATASETS = ("nci1", "proteins", "dd", "mutag")

#: GIRL and its baselines; "untrained" is its encoder before the first step.
METHODS = ("bag of nodes", "untrained", "girl")


@dataclass(frozen=True, kw_only=True)
class Graphs(Comparison):
    """Classification of whole graphs with frozen embeddings, on ten folds: bags of nodes, untrained encoder, GIRL.

    With `--methods all` also the other methods that `girl methods` lists for sets of graphs, each with its published
    recipe and the same time, and with the encoder of its publication or GIRL's, whichever has the higher validation
    score on the first seed. Writes OUT/graphs/DATASET.json after every cell; interrupted, the same command goes on.
    """

    name = "graphs"
    available = DATASETS
    own_methods = METHODS
    other_level = "nodes"
    time_limit = 120.0
    compared = tuple((dataset, "10-fold") for dataset in DATASETS)
    baselines = ("bag of nodes", "untrained")

    datasets: DatasetNames = DATASETS
    """which datasets."""
    methods: Annotated[tuple[str, ...], several(RUN)] = METHODS
    """which methods, by name, or "all"."""
    seeds: Count = 5
    """number of seeds, each with ten folds of its own."""
    probes: Annotated[tuple[Literal["svm", "linear"], ...], several(RUN)] = ("svm",)
    """svm (as is usual), linear or both."""

    def own_recipe(self, method: str, dataset: str) -> Recipe | None:
        """The recipe of GIRL; a bag of nodes has none."""
        return None if method == "bag of nodes" else method_recipe("girl", dataset)

    def compute(self, cell: Cell) -> dict[str, Any]:
        """Train, and score on ten folds."""
        return compute_on_graphs(cell, self.load(cell.dataset), self.probes)

    def render(self, results: Path, folder: Path) -> dict[str, str]:
        """The comparison of methods on sets of graphs."""
        from girl.lab.tables import methods

        return methods.render(self.scores(results), folder)


def compute_on_graphs(cell: Cell, dataset: NodeDataset, probes: Sequence[Kind] = ("svm",)) -> dict[str, Any]:
    """The scores of a cell's method: means over ten folds."""
    protocol, folds = splits.get("10-fold"), list(range(FOLDS * cell.seed, FOLDS * (cell.seed + 1)))
    training: dict[str, Any] = {}
    if cell.recipe is None:
        h = dict(baseline_representations(dataset))[cell.method]
    else:
        recipe = Recipe().with_values(cell.recipe)
        batch = make_batch(dataset.data, recipe.encoder)
        if cell.method == "untrained":
            h = embed_untrained(batch, recipe)
        else:
            h, training = train_measured(
                batch, recipe, lambda h: score_splits(cell.method, h, dataset, protocol, folds[:1], "svm").val.mean
            )
    rows = []
    for probe in probes:
        row = score_splits(cell.method, h, dataset, protocol, folds, probe)
        rows.append(
            {
                "protocol": "10-fold",
                "probe": probe,
                "metric": row.metric,
                "val": row.val.mean,
                "test": row.test.mean,
                "folds": [round(score.test, 6) for score in row.scores],
                "strengths": [score.strength for score in row.scores],
                "probe_seconds": round(sum(score.seconds for score in row.scores), 2),
            }
        )
    return {"stand_in": dataset.stand_in, "rows": rows, **training}
