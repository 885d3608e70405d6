"""The evidence for the judge: does it rank representations of a graph as labels would?

A cell is one representation of one graph. It has the shares that the judge found, on a graph with hidden columns and
edges, and the validation accuracy, on the complete graph. The rule that makes one score of the shares is applied when
tables are rendered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

from cyclopts import Parameter
from torch import Tensor

from girl import datasets
from girl.cli.app import RUN
from girl.datasets.dataset import NodeDataset
from girl.datasets.registry import DATASETS
from girl.errors import InputError
from girl.evaluation.controls import CONTROLS, control
from girl.evaluation.judge import explained_features, judge_tasks
from girl.evaluation.probe import probe
from girl.graph.batch import Batch
from girl.graph.hidden import HiddenTask, hide
from girl.kernel.checks import EqualRowsError, NotFiniteError
from girl.lab.cells import Cell
from girl.lab.default import DEFAULT_PROTOCOLS, WITHOUT_FEATURES
from girl.lab.experiment import CellExperiment, Count, DatasetNames, several
from girl.lab.search_splits import search_splits
from girl.splits import Split
from girl.training.batch import make_batch
from girl.training.loop import DivergedError
from girl.training.recipe import Recipe, method_recipe
from girl.training.run import pretrain
from girl.training.untrained import embed_untrained

#: The graphs, small ones first.
DATASETS_BY_SIZE = tuple(sorted(DEFAULT_PROTOCOLS, key=lambda name: DATASETS[name].nodes * DATASETS[name].edges ** 0.5))
#: Columns of a representation, about.
DIM = 256
#: Graphs with more nodes than this have fewer trained representations, and one protocol.
LARGE = 5000
#: Validation scores are means over about this many nodes, of several splits: for the first protocol, and the second.
VALIDATION_NODES = (1000, 500)
MAX_SPLITS = 6
#: Seconds of one training, at most.
TIME_LIMIT = 6.0

#: Bands at fixed scales.
FIXED_BANDS: dict[str, dict[str, float]] = {
    "near": {"near": 1.0},
    "far": {"far": 1.0},
    "contrast": {"contrast": 1.0},
    "distribution": {"distribution": 1.0},
    "roles": {"roles": 1.0},
    "mid + own/2": {"mid": 1.0, "own": 0.5},
    "mid + positions/2": {"mid": 1.0, "positions": 0.5},
    "own + contrast": {"own": 1.0, "contrast": 1.0},
    "own + positions": {"own": 1.0, "positions": 1.0},
}
#: The same for graphs without features, which have more numbers of positions, too.
STRUCTURE_BANDS: dict[str, dict[str, float]] = {
    "roles": {"roles": 1.0},
    "positions + roles": {"positions": 1.0, "roles": 1.0},
    "positions + roles/2": {"positions": 1.0, "roles": 0.5},
    "positions/2 + roles": {"positions": 0.5, "roles": 1.0},
}
POSITION_COUNTS = (8, 32, 128)

#: GIRL's encoder: along epochs, and with other settings. Large graphs have those that are named in ENCODERS_OF_LARGE.
ENCODERS: dict[str, dict[str, Any]] = {
    "girl, 0 epochs": {"epochs": 0},
    "girl, 5 epochs": {"epochs": 5},
    "girl, 20 epochs": {"epochs": 20},
    "girl, sgc, 2 hops": {"conv": "sgc", "hops": 2, "epochs": 10},
    "girl, mlp": {"conv": "mlp", "epochs": 10},
    "girl, mlp, keep 1": {"conv": "mlp", "keep": 1.0, "epochs": 10},
    "girl, keep 0": {"keep": 0.0, "epochs": 10},
    "girl, keep 1": {"keep": 1.0, "epochs": 10},
}
ENCODERS_OF_LARGE = ("girl, 0 epochs", "girl, 5 epochs", "girl, mlp, keep 1")
#: Other methods, with their numbers of epochs.
PEERS: dict[str, tuple[int, ...]] = {
    "dgi": (5, 50),
    "cca-ssg": (5, 50),
    "grace": (5, 30),
    "bgrl": (20,),
    "graphmae": (10,),
}
PEERS_OF_LARGE: dict[str, tuple[int, ...]] = {"dgi": (5, 20), "cca-ssg": (5, 20)}

#: Kinds of representations, in the order of the legend.
KINDS = ("control", "bands", "default", "girl", "peer")


@dataclass(frozen=True, kw_only=True)
class Judge(CellExperiment):
    """The judge beside labels: explained shares and validation accuracy of 20 or more representations of every graph.

    Writes OUT/judge/DATASET.json after every cell; interrupted, the same command goes on.
    """

    name = "judge"
    available = tuple(DEFAULT_PROTOCOLS)

    datasets: DatasetNames = DATASETS_BY_SIZE
    """which datasets."""
    seeds: Count = 1
    """number of seeds: each trains anew, and hides other columns and edges."""
    rows: Annotated[int, Parameter(group=RUN)] = 1500
    """nodes at which hidden parts are explained."""
    methods: Annotated[tuple[str, ...], several(RUN)] = ()
    """which representations, by name."""

    def recipes(self, dataset: str, seed: int) -> dict[str, Recipe | None]:
        """Every representation; controls have no recipe."""
        recipes = representations(dataset)
        return {name: None if recipe is None else recipe.with_seed(seed) for name, recipe in recipes.items()}

    def selects(self, cell: Cell) -> bool:
        """Whether the options ask for the representation."""
        return not self.methods or cell.method in self.methods

    def compute(self, cell: Cell) -> dict[str, Any]:
        """Judge the representation on a part of the graph, and probe it on the complete graph."""
        batch, task = _hidden_task(cell.dataset, self.data_root, self.mirror, self.rows, cell.seed)
        dataset = self.load(cell.dataset)
        common: dict[str, Any] = {"stand_in": dataset.stand_in, "kind": kind_of(cell.method)}
        try:
            judged = judge_tasks([task], lambda visible: embed(cell, visible))
            h = embed(cell, batch)
        except (DivergedError, EqualRowsError, NotFiniteError, InputError) as error:
            return {**common, "failure": str(error), "rows": []}
        return {
            **common,
            "explained": judged.explained,
            "stderr": judged.stderr,
            "columns": h.shape[1],
            "rows": validation_rows(h, dataset, cell.seed),
        }

    def render(self, results: Path, folder: Path) -> dict[str, str]:
        """The tables and the figure of the judge."""
        from girl.lab.tables import judge

        return judge.render(self.current(results), folder)


def representations(dataset: str) -> dict[str, Recipe | None]:
    """The representations of a graph by name, each with the recipe that makes it; None for controls."""
    featured = dataset not in WITHOUT_FEATURES
    large = DATASETS[dataset].nodes > LARGE
    names = CONTROLS if featured else ("positions", *(f"positions {count}" for count in POSITION_COUNTS))
    recipes: dict[str, Recipe | None] = dict.fromkeys(names)
    for name, scales in (FIXED_BANDS if featured else STRUCTURE_BANDS).items():
        values = {"dim": DIM, "bands": tuple(scales), "scales": tuple(scales.values())}
        recipes[name] = Recipe().with_values(values)
    recipes["default"] = Recipe().with_values({"dim": DIM})
    for name, values in ENCODERS.items():
        if not large or name in ENCODERS_OF_LARGE:
            recipes[name] = Recipe.encoder_default().with_values({"hidden": DIM, "time_limit": TIME_LIMIT, **values})
    for peer, checkpoints in (PEERS_OF_LARGE if large else PEERS).items():
        for epochs in checkpoints:
            recipes[f"{peer}, {epochs} epochs"] = _peer_recipe(peer, epochs)
    # A random encoder without the node's own features beside it.
    recipes["untrained"] = Recipe.encoder_default().with_values({"hidden": DIM, "keep": 0.0, "epochs": 0})
    return recipes


def _peer_recipe(peer: str, epochs: int) -> Recipe:
    """The published recipe of a method, of the same width as the others and with few epochs."""
    values: dict[str, Any] = {"hidden": DIM, "epochs": epochs, "time_limit": TIME_LIMIT, "warmup": 0, "patience": 0}
    return method_recipe(peer).with_values(values | ({"rows": 1024} if peer == "grace" else {}))


def kind_of(method: str) -> str:
    """Which of :data:`KINDS` a representation is."""
    first = method.split(",")[0]
    if first in (*CONTROLS, *(f"positions {count}" for count in POSITION_COUNTS)):
        return "control"
    if first in FIXED_BANDS or first in STRUCTURE_BANDS:
        return "bands"
    if first in PEERS:
        return "peer"
    return "default" if first == "default" else "girl"


def embed(cell: Cell, batch: Batch) -> Tensor:
    """The representation of a cell, of a graph or of its visible part."""
    if cell.recipe is None:
        name, _, count = cell.method.partition(" ")
        return control(name, batch, int(count or DIM), cell.seed)
    recipe = Recipe().with_values(cell.recipe)
    if recipe.encoder.normalize != "none":
        batch = replace(batch, x=batch.x.normalized(recipe.encoder.normalize))
    if not recipe.train.epochs:
        return embed_untrained(batch, recipe)
    vectors = pretrain(batch, recipe).vectors
    assert vectors is not None  # of a run that was just trained
    return vectors


def validation_rows(h: Tensor, dataset: NodeDataset, seed: int) -> list[dict[str, Any]]:
    """The validation score under each protocol, a mean over splits; large graphs have the first protocol only."""
    protocols = DEFAULT_PROTOCOLS[dataset.name]
    rows: list[dict[str, Any]] = []
    for protocol, nodes in zip(protocols, VALIDATION_NODES, strict=False):
        if rows and dataset.data.num_nodes > LARGE:
            break
        scores = [
            probe(h, dataset.data.y, split, multilabel=dataset.multilabel, metric=dataset.metric).val
            for split in validation_splits(dataset, protocol, nodes, seed)
        ]
        row = {"protocol": protocol, "probe": "linear", "metric": dataset.metric, "val": mean(scores)}
        rows.append({**row, "vals": scores})
    return rows


def validation_splits(dataset: NodeDataset, protocol: str, nodes: int, seed: int) -> Sequence[Split]:
    """Splits without test nodes, with about ``nodes`` validation nodes in all."""
    first = list(search_splits(dataset, protocol, MAX_SPLITS * seed))
    count = min(max(round(nodes / len(first[0].val)), 1), MAX_SPLITS)
    others = (
        split
        for index in range(1, count)
        for split in ([] if len(first) > 1 else search_splits(dataset, protocol, MAX_SPLITS * seed + index))
    )
    return list(islice((*first, *others), count))


@lru_cache(maxsize=1)
def _hidden_task(
    name: str, data_root: Path | None, mirror: Path | None, rows: int, seed: int
) -> tuple[Batch, HiddenTask]:
    """A graph, and the same with a part of it hidden; cached for the cells that follow."""
    batch = make_batch(datasets.load(name, data_root, mirror).data, Recipe().encoder)
    return batch, hide(batch, *explained_features(batch), rows, seed)
