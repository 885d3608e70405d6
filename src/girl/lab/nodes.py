"""The node tables: baselines, untrained encoders, GIRL's encoder as published, in one recipe and tuned, other methods.

Training sees no labels, so one embedding serves every protocol of its dataset: that of seed s is scored on split s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from girl import splits
from girl.cli.app import RUN
from girl.datasets.dataset import NodeDataset
from girl.evaluation.baselines import BASELINES
from girl.evaluation.probe import Kind
from girl.evaluation.scores import score_splits
from girl.lab.cells import Cell
from girl.lab.comparison import Comparison
from girl.lab.experiment import Count, DatasetNames, several
from girl.lab.measured_training import train_measured
from girl.training.batch import make_batch
from girl.training.recipe import Recipe, tuned_recipe
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

#: GIRL and its baselines. "untrained" is the encoder of "girl" before its first step, "own" the same without any
#: weights; "encoder untrained" and "released-1024 untrained" are those of "encoder" and "released-1024".
UNTRAINED = ("own", "untrained", "encoder untrained", "released-1024 untrained")
METHODS = (*BASELINES, *UNTRAINED, "released-1024", "encoder", "girl")

#: The datasets on which GIRL is compared with other methods.
COMPARED = ("cora", "citeseer", "pubmed", "dblp", "photo", "texas", "actor", "usa-airports")


@dataclass(frozen=True, kw_only=True)
class Nodes(Comparison):
    """Node classification with frozen embeddings: baselines, untrained encoders, GIRL as released, encoder, tuned.

    With `--methods all` also the other methods that `girl methods` lists, each with its published recipe and the same
    time, and with the encoder of its publication or GIRL's, whichever has the higher validation score on the first
    seed. Writes OUT/nodes/DATASET.json after every cell; interrupted, the same command goes on.
    """

    name = "nodes"
    available = tuple(PROTOCOLS)
    own_methods = METHODS
    other_level = "graphs"
    time_limit = 30.0
    compared = tuple((dataset, protocol) for dataset in COMPARED for protocol in PROTOCOLS[dataset])
    baselines = ("raw", "untrained")

    datasets: DatasetNames = tuple(PROTOCOLS)
    """which datasets."""
    methods: Annotated[tuple[str, ...], several(RUN)] = METHODS
    """which methods, by name, or "all"."""
    seeds: Count = 10
    """number of seeds, each with a split of its own where the protocol has several."""
    probes: Annotated[tuple[Literal["linear", "mlp"], ...], several(RUN)] = ("linear",)
    """linear, mlp or both."""

    def own_recipe(self, method: str, dataset: str) -> Recipe | None:
        """The recipe of GIRL or a baseline."""
        match method:
            case "girl" | "untrained" | "own":
                return tuned_recipe(dataset)
            case "encoder" | "encoder untrained":
                return Recipe.encoder_default()
            case "released-1024" | "released-1024 untrained":
                return Recipe.load("released-1024")
        return dict.fromkeys(BASELINES)[method]

    def compute(self, cell: Cell) -> dict[str, Any]:
        """Train, and score on the dataset's protocols."""
        return compute_on_nodes(cell, self.load(cell.dataset), self.probes)

    def render(self, results: Path, folder: Path) -> dict[str, str]:
        """The node tables, and the comparison of methods on nodes."""
        from girl.lab.tables import methods, nodes

        return nodes.render(self.current(results), folder) | methods.render(self.scores(results), folder)


def compute_on_nodes(
    cell: Cell, dataset: NodeDataset, probes: Sequence[Kind] = ("linear",), protocols: Sequence[str] = ()
) -> dict[str, Any]:
    """The scores of a cell's method on the dataset's protocols, and on further ``protocols``."""
    training: dict[str, Any] = {}
    if cell.recipe is None:
        h = BASELINES[cell.method](dataset.data)
    else:
        recipe = Recipe().with_values(cell.recipe)
        batch = make_batch(dataset.data, recipe.encoder)
        if cell.method.endswith("untrained"):
            h = embed_untrained(batch, recipe)
        elif cell.method == "own":
            h = embed_without_weights(batch, recipe)
        else:
            first = splits.get(PROTOCOLS[cell.dataset][0])
            h, training = train_measured(
                batch, recipe, lambda h: score_splits(cell.method, h, dataset, first, [cell.seed]).val.mean
            )
    rows = []
    for protocol in dict.fromkeys((*PROTOCOLS[cell.dataset], *protocols)):
        for probe in probes:
            (score,) = score_splits(cell.method, h, dataset, splits.get(protocol), [cell.seed], probe).scores
            rows.append(
                {
                    "protocol": protocol,
                    "probe": probe,
                    "metric": score.metric,
                    "val": score.val,
                    "test": score.test,
                    "strength": score.strength,
                    "probe_seconds": round(score.seconds, 2),
                }
            )
    return {"stand_in": dataset.stand_in, "rows": rows, **training}
