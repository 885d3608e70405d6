"""The proof of the default on sets of graphs, without labels and without a choice, beside its controls."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from girl import splits
from girl.cli.app import RUN
from girl.datasets.dataset import NodeDataset
from girl.evaluation.metrics import summarize
from girl.evaluation.scores import baseline_representations, score_splits
from girl.lab.cells import Cell
from girl.lab.experiment import CellExperiment, Count, DatasetNames, several
from girl.lab.graphs import DATASETS
from girl.lab.wl_oa import score_kernel, wl_oa
from girl.splits import FOLDS
from girl.training.batch import make_batch
from girl.training.recipe import Recipe
from girl.training.run import pretrain
from girl.training.untrained import embed_untrained

PROTOCOL = "10-fold"
#: The default is computed at its own width and at 256 columns.
METHODS = ("bag of nodes", "untrained", "wl-oa", "default", "default 256")


@dataclass(frozen=True, kw_only=True)
class DefaultGraphs(CellExperiment):
    """The default on sets of graphs, without labels, beside bags of nodes, an untrained encoder and a graph kernel.

    Each seed has ten folds of its own. Writes OUT/default-graphs/DATASET.json after every cell; interrupted, the same
    command goes on.
    """

    name = "default-graphs"
    available = DATASETS

    datasets: DatasetNames = DATASETS
    """which datasets."""
    seeds: Count = 10
    """number of seeds, each with ten folds of its own."""
    methods: Annotated[tuple[str, ...], several(RUN)] = METHODS
    """bag of nodes, untrained, wl-oa, default, default 256."""

    def recipes(self, dataset: str, seed: int) -> dict[str, Recipe | None]:
        """Every method; a bag of nodes and the graph kernel have no recipe."""
        default = Recipe.graphs_default()
        recipes = {
            "bag of nodes": None,
            "untrained": Recipe.load("graphs"),
            "wl-oa": None,
            "default": default,
            "default 256": default.with_values({"dim": 256}),
        }
        return {name: None if recipe is None else recipe.with_seed(seed) for name, recipe in recipes.items()}

    def selects(self, cell: Cell) -> bool:
        """Whether the options ask for the method."""
        return cell.method in self.methods

    def compute(self, cell: Cell) -> dict[str, Any]:
        """Embed, and score on ten folds."""
        dataset = self.load(cell.dataset)
        folds = list(range(FOLDS * cell.seed, FOLDS * (cell.seed + 1)))
        if cell.method == "wl-oa":
            return {"stand_in": dataset.stand_in, "rows": [_kernel_row(dataset, folds)]}
        choices: dict[str, Any] = {}
        if cell.recipe is None:
            h = dict(baseline_representations(dataset))[cell.method]
        else:
            recipe = Recipe().with_values(cell.recipe)
            batch = make_batch(dataset.data, recipe.encoder)
            if cell.method == "untrained":
                h = embed_untrained(batch, recipe)
            else:
                run = pretrain(batch, recipe)
                assert run.vectors is not None
                h, choices = run.vectors, run.config["choices"]
        row = score_splits(cell.method, h, dataset, splits.get(PROTOCOL), folds, "svm")
        scores = [(score.val, score.test, score.strength) for score in row.scores]
        result = {"stand_in": dataset.stand_in, "rows": [_row(scores)], "columns": h.shape[1]}
        return result | ({"choices": choices} if choices else {})

    def render(self, results: Path, folder: Path) -> dict[str, str]:
        """The tables of the default on sets of graphs."""
        from girl.lab.tables import default_graphs

        return default_graphs.render(self.current(results))


def _kernel_row(dataset: NodeDataset, folds: list[int]) -> dict[str, Any]:
    """The scores of the graph kernel."""
    kernel = wl_oa(make_batch(dataset.data, Recipe().encoder))
    protocol = splits.get(PROTOCOL)
    return _row([score_kernel(kernel, dataset.data.y, protocol.split(dataset, fold), fold) for fold in folds])


def _row(scores: list[tuple[float, float, Any]]) -> dict[str, Any]:
    """Mean inner and test accuracy over the folds, and both for each fold."""
    return {
        "protocol": PROTOCOL,
        "probe": "svm",
        "metric": "accuracy",
        "val": summarize([val for val, _, _ in scores]).mean,
        "test": summarize([test for _, test, _ in scores]).mean,
        "folds": [round(test, 6) for _, test, _ in scores],
        "strengths": [strength for _, _, strength in scores],
    }
