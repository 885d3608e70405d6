"""The node tables: controls, untrained encoders, GIRL as published, by default and tuned, and the other methods.

Training sees no labels, so one representation serves every protocol of its dataset: seed s is probed on split s.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from girl import splits
from girl.errors import InputError
from girl.evaluation.baselines import BASELINES
from girl.evaluation.probe import Kind
from girl.evaluation.scores import score_splits
from girl.lab.cells import Cell, kept_dataset, table_cells
from girl.lab.measured_training import trained
from girl.lab.peers import both, peer_recipe
from girl.methods.registry import methods
from girl.training.batch import make_batch
from girl.training.recipe import Recipe, find_recipe, tuned_recipe
from girl.training.untrained import embed_untrained, embed_without_weights

#: For each dataset, the field's low-label protocol (if there is one) and the one that the paper's numbers fit.
PROTOCOLS: dict[str, tuple[str, ...]] = {
    "cora": ("public", "full"),
    "citeseer": ("public", "full"),
    "pubmed": ("public", "full"),
    "dblp": ("random-10-10-80", "random-60-20-20"),
    "photo": ("random-10-10-80", "random-60-20-20"),
    "computers": ("random-10-10-80", "random-60-20-20"),
    "cs": ("random-10-10-80", "random-60-20-20"),
    "physics": ("random-10-10-80", "random-60-20-20"),
    "texas": ("geom-gcn",),
    "actor": ("geom-gcn",),
    "usa-airports": ("random-60-20-20",),
    "usa-airports-structural": ("random-60-20-20",),
}

#: The highest accuracy of frozen representations seen in public under each low-label protocol, in percent.
HIGHEST = {
    "cora": 85.2,
    "citeseer": 74.5,
    "pubmed": 81.6,
    "dblp": 84.2,
    "photo": 93.2,
    "computers": 90.3,
    "cs": 93.3,
    "physics": 95.7,
}

#: What is compared. "untrained" is the encoder of "girl" before its first step, "own" the same without any weights;
#: "default untrained" and "paper untrained" are those of "default" and "paper".
METHODS = (*BASELINES, "own", "untrained", "default untrained", "paper untrained", "paper", "default", "girl")

#: Seconds of training, on one core, that every method has.
BUDGET = 30.0


def peers() -> tuple[str, ...]:
    """The other methods, with their published recipes; those of other packages too."""
    return tuple(name for name, entry in methods().items() if entry.level != "graphs" and name != "girl")


def recipe_of(method: str, dataset: str) -> Recipe | None:
    """The recipe that a method uses on a dataset; None for a control that is not trained."""
    match method:
        case "girl" | "untrained" | "own":
            return tuned_recipe(dataset)
        case "default" | "default untrained":
            return Recipe()
        case "paper" | "paper untrained":
            return find_recipe("paper")
        case _ if method in BASELINES:
            return None
        case _ if method in both(peers()):
            return peer_recipe(method, dataset, BUDGET)
    raise InputError(f"method: given {method!r}, expected one of {', '.join((*METHODS, *peers()))}, or all")


def cells(names: Sequence[str], rows: Sequence[str], seeds: int) -> list[Cell]:
    """All cells of the table, seed by seed."""
    return table_cells(names, PROTOCOLS, rows, seeds, recipe_of)


class Compute:
    """Computes a cell; what it holds is where the data is, so that it can be sent to another process.

    ``protocols`` are those to judge by beside the dataset's own.
    """

    def __init__(
        self,
        root: Path | None,
        mirror: Path | None,
        probes: Sequence[Kind] = ("linear",),
        protocols: Sequence[str] = (),
    ) -> None:
        self.root, self.mirror, self.probes, self.protocols = root, mirror, tuple(probes), tuple(protocols)

    def __call__(self, cell: Cell) -> dict[str, Any]:
        dataset = kept_dataset(cell.dataset, self.root, self.mirror)
        extra: dict[str, Any] = {}
        if cell.recipe is None:
            h = BASELINES[cell.method](dataset.data)
        else:
            recipe = Recipe().with_values(cell.recipe)
            whole = make_batch(dataset.data, recipe.encoder)
            if cell.method.endswith("untrained"):
                h = embed_untrained(whole, recipe)
            elif cell.method == "own":
                h = embed_without_weights(whole, recipe)
            else:
                rule = splits.get(PROTOCOLS[cell.dataset][0])
                h, extra = trained(
                    whole, recipe, lambda h: score_splits(cell.method, h, dataset, rule, [cell.seed]).val.mean
                )
        rows = []
        for name in dict.fromkeys((*PROTOCOLS[cell.dataset], *self.protocols)):
            for kind in self.probes:
                row = score_splits(cell.method, h, dataset, splits.get(name), [cell.seed], kind)
                (score,) = row.scores
                rows.append(
                    {
                        "protocol": name,
                        "probe": kind,
                        "metric": score.metric,
                        "val": score.val,
                        "test": score.test,
                        "strength": score.strength,
                        "probe_seconds": round(score.seconds, 2),
                    }
                )
        return {"stand_in": dataset.stand_in, "rows": rows, **extra}
