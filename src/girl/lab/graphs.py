"""The tables on sets of graphs: bags of nodes, untrained encoders, GIRL and the methods that it is compared with.

Training sees all graphs and no label; seed s is judged on the ten folds of shuffle s.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from girl import splits
from girl.errors import InputError
from girl.evaluation.probe import Kind
from girl.evaluation.scores import baseline_representations, score_splits
from girl.lab.cells import Cell, kept_dataset, table_cells
from girl.lab.measured_training import trained
from girl.lab.peers import both, peer_recipe
from girl.methods.registry import methods
from girl.splits import FOLDS
from girl.training.batch import make_batch
from girl.training.recipe import Recipe, method_recipe
from girl.training.untrained import embed_untrained

DATASETS = ("nci1", "proteins", "dd", "mutag")

#: The highest accuracy of the paper and of what was seen in public, in percent: ten folds, a kernel machine.
HIGHEST = {"nci1": 81.5, "proteins": 75.6, "dd": 79.7, "mutag": 89.7}

#: Seconds of training, on one core, that every method has.
BUDGET = 120.0

#: Controls, and GIRL; "untrained" is its encoder before the first step.
METHODS = ("bag of nodes", "untrained", "girl")


def peers() -> tuple[str, ...]:
    """The other methods, with their published recipes; those of other packages too."""
    return tuple(name for name, entry in methods().items() if entry.level != "nodes" and name != "girl")


def recipe_of(method: str, dataset: str) -> Recipe | None:
    """The recipe that a method uses on a dataset; None for the control that is not trained."""
    if method == "bag of nodes":
        return None
    if method in ("girl", "untrained"):
        return method_recipe("girl", dataset)
    if method in both(peers()):
        return peer_recipe(method, dataset, BUDGET)
    raise InputError(f"method: given {method!r}, expected one of {', '.join((*METHODS, *peers()))}, or all")


def cells(names: Sequence[str], rows: Sequence[str], seeds: int) -> list[Cell]:
    """All cells of the table, seed by seed."""
    return table_cells(names, DATASETS, rows, seeds, recipe_of)


class Compute:
    """Computes a cell; what it holds is where the data is, so that it can be sent to another process."""

    def __init__(self, root: Path | None, mirror: Path | None, probes: Sequence[Kind] = ("svm",)) -> None:
        self.root, self.mirror, self.probes = root, mirror, tuple(probes)

    def __call__(self, cell: Cell) -> dict[str, Any]:
        dataset = kept_dataset(cell.dataset, self.root, self.mirror)
        extra: dict[str, Any] = {}
        if cell.recipe is None:
            h = dict(baseline_representations(dataset))[cell.method]
        else:
            recipe = Recipe().with_values(cell.recipe)
            whole = make_batch(dataset.data, recipe.encoder)
            if cell.method == "untrained":
                h = embed_untrained(whole, recipe)
            else:
                rule, fold = splits.get("10-fold"), FOLDS * cell.seed
                h, extra = trained(
                    whole, recipe, lambda h: score_splits(cell.method, h, dataset, rule, [fold], "svm").val.mean
                )
        rows = []
        folds = range(FOLDS * cell.seed, FOLDS * (cell.seed + 1))
        for kind in self.probes:
            row = score_splits(cell.method, h, dataset, splits.get("10-fold"), list(folds), kind)
            rows.append(
                {
                    "protocol": "10-fold",
                    "probe": kind,
                    "metric": row.metric,
                    "val": row.val.mean,
                    "test": row.test.mean,
                    "folds": [round(score.test, 6) for score in row.scores],
                    "strengths": [score.strength for score in row.scores],
                    "probe_seconds": round(sum(score.seconds for score in row.scores), 2),
                }
            )
        return {"stand_in": dataset.stand_in, "rows": rows, **extra}
