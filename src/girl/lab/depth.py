"""The depth study: deep supervised GNNs without regularisation, with weight decay, a fully-adjacent layer, and KR."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Self

from girl import splits
from girl.cli.app import RUN
from girl.errors import InputError
from girl.graph.node_features import Normalization
from girl.lab.cells import Cell, Results
from girl.lab.experiment import CellExperiment, Count, DatasetNames, several
from girl.nn.classifier import ClassifierSettings
from girl.training.state import TrainSettings
from girl.training.supervised import KINDS, Kind, RegularizerSettings, SupervisedRecipe
from girl.training.supervised_run import train_on_split

DEPTHS = (3, 6, 9, 12, 15, 18)

#: What is chosen on validation: λ of KR, and the weight decay. The other two have nothing to choose.
CANDIDATES: dict[Kind, tuple[float, ...]] = {
    "none": (0.0,),
    "weight_decay": (1e-2, 1e-1, 1.0),
    "fully_adjacent": (0.0,),
    "kr": (1.0, 10.0, 100.0),
}

#: The fewest training nodes in a METIS part.
MIN_TRAINING_NODES = 8

#: Epochs between measurements of every layer, in the runs that the diagnosis is drawn from.
WATCH = 10


@dataclass(frozen=True)
class Plan:
    """How a dataset is trained on: the same for every kind and depth."""

    protocol: str
    seeds: int
    """Each with a split of its own, where the protocol has several."""
    pilot: int
    """The first of them, on whose validation nodes the candidates are compared."""
    epochs: int
    clusters: int = 0
    batch_size: int = 1
    hidden: int = 64
    normalize: Normalization = "zscore"
    """Scaling of each node's features: as in the released code, unless a plain network of three layers validates better
    on the features as they are."""


#: 400 to 800 steps each, on METIS parts of about 460 nodes, at a quarter of the paper's width. On larger parts steps
#: cost more, and networks of many layers are far from trained when the time is over. Texas and Actor as in the paper,
#: on ten fixed splits.
HERE = {
    "texas": Plan("geom-gcn", 10, 3, 400),
    "actor": Plan("geom-gcn", 10, 2, 40, 16, normalize="none"),
    "cora": Plan("full", 5, 1, 80, 6),
    "pubmed": Plan("full", 5, 1, 20, 40, normalize="none"),
    "photo": Plan("random-60-20-20", 5, 1, 40, 16),
    "computers": Plan("random-60-20-20", 5, 1, 27, 28),
    "cs": Plan("random-60-20-20", 5, 1, 20, 40),
}

#: Those of the paper that must be fetched, with its width and batches: 1,500 METIS parts, ten at a time.
LARGE = {
    "reddit": Plan("public", 5, 1, 100, 1500, 10, 256),
    "reddit2": Plan("public", 5, 1, 100, 1500, 10, 256),
    "ogbn-arxiv": Plan("ogb", 5, 1, 100, 1500, 10, 256),
    "ogbn-products": Plan("ogb", 5, 1, 100, 1500, 10, 256),
    "ppi": Plan("public", 5, 1, 100, 1500, 10, 256),
}
PLANS = HERE | LARGE


@dataclass(frozen=True, kw_only=True)
class Depth(CellExperiment):
    """Deep supervised GNNs: no regularisation, weight decay, a fully-adjacent last layer and KR, over the depth.

    λ and the weight decay are chosen on validation nodes, for each dataset and depth. Writes OUT/depth/DATASET.json
    after every cell; interrupted, the same command goes on.
    """

    name = "depth"
    available = tuple(PLANS)

    datasets: DatasetNames = tuple(HERE)
    """which datasets; Reddit, Reddit2, ogbn-arxiv, ogbn-products and PPI can be given, too."""
    depths: Annotated[tuple[int, ...], several(RUN)] = DEPTHS
    """which depths."""
    regularizers: Annotated[tuple[Kind, ...], several(RUN)] = KINDS
    """which regularisers."""
    seeds: Count = 10
    """at most this many seeds; Texas and Actor have 10 splits, the others 5 seeds."""

    def recipes(self, dataset: str, seed: int) -> dict[str, SupervisedRecipe]:
        """Every candidate, on the seeds that the dataset's plan has."""
        if seed >= PLANS[dataset].seeds:
            return {}
        return {
            method_name(kind, depth, value): recipe(dataset, kind, depth, value, seed)
            for depth in DEPTHS
            for kind in KINDS
            for value in CANDIDATES[kind]
        }

    def selects(self, cell: Cell) -> bool:
        """Whether the depth and the regulariser are asked for."""
        kind, depth, *_ = cell.method.split()
        return kind in self.regularizers and int(depth) in self.depths

    def checked(self) -> Self:
        """As for any experiment; depths must be known, too."""
        for depth in self.depths:
            if depth not in DEPTHS:
                raise InputError(f"depth: given {depth}, expected one of {', '.join(map(str, DEPTHS))}")
        return super().checked()

    def stages(self, results: Results) -> Iterator[list[Cell]]:
        """Dataset by dataset: every candidate on the pilot's seeds, then the chosen ones on all other seeds."""
        cells = self.cells()
        for dataset in self.datasets:
            pilot = PLANS[dataset].pilot
            yield [cell for cell in cells if cell.dataset == dataset and cell.seed < pilot]
            saved = results.of(dataset)
            chosen = {
                method_name(kind, depth, value)
                for kind in self.regularizers
                for depth in self.depths
                if (value := chosen_candidate(saved, dataset, kind, depth)) is not None
            }
            others = [cell for cell in cells if cell.dataset == dataset and cell.seed >= pilot]
            if rest := [cell for cell in others if cell.method in chosen]:
                yield rest

    def compute(self, cell: Cell) -> dict[str, Any]:
        """Train and score the classifier."""
        assert cell.recipe is not None
        dataset = self.load(cell.dataset)
        protocol = splits.get(PLANS[cell.dataset].protocol)
        index = cell.seed % protocol.count(dataset)
        settings = SupervisedRecipe().with_values(cell.recipe)
        most = len(protocol.split(dataset, index).train) // MIN_TRAINING_NODES
        if settings.train.clusters > most:  # a stand-in may have fewer nodes than the paper's graphs have parts
            settings = replace(settings, train=replace(settings.train, clusters=most))
        run = train_on_split(dataset, protocol, index, settings)
        result: dict[str, Any] = {
            "stand_in": dataset.stand_in,
            "rows": [{"protocol": protocol.name, "probe": "none", **run.scores}],
            "train_seconds": round(run.history.seconds, 3),
            "best_epoch": 1 + max(range(len(run.history.scores)), key=run.history.scores.__getitem__),
        }
        if run.history.observed:
            result["observed"] = [{name: round(x, 4) for name, x in row.items()} for row in run.history.observed]
        return result

    def render(self, results: Path, folder: Path) -> dict[str, str]:
        """Accuracy over depth, and where the labels are lost."""
        from girl.lab.tables import depth

        return depth.render(self.current(results), folder)


def method_name(kind: Kind, depth: int, value: float) -> str:
    """The method of a cell: ``none 3``, ``kr 18 10``."""
    return f"{kind} {depth}" + (f" {value:g}" if len(CANDIDATES[kind]) > 1 else "")


def recipe(dataset: str, kind: Kind, depth: int, value: float, seed: int) -> SupervisedRecipe:
    """The paper's model; nothing but the regulariser differs between kinds."""
    plan = PLANS[dataset]
    watch = WATCH if seed == 0 and depth == max(DEPTHS) and kind in ("none", "kr") else 0
    regularizer = RegularizerSettings(regularizer=kind, watch=watch)
    if kind == "kr":
        regularizer = replace(regularizer, weight=value)
    elif kind == "weight_decay":
        regularizer = replace(regularizer, decay=value)
    train = TrainSettings(
        epochs=plan.epochs, lr=1e-3, clusters=plan.clusters, batch_size=plan.batch_size, save_every=10, seed=seed
    )
    model = ClassifierSettings(depth=depth, hidden=plan.hidden, normalize=plan.normalize)
    return SupervisedRecipe(model, regularizer, train)


def chosen_candidate(results: Sequence[dict[str, Any]], dataset: str, kind: Kind, depth: int) -> float | None:
    """The candidate with the best mean validation score over the pilot's seeds; None until all are computed."""
    scores: dict[float, list[float]] = {}
    for value in CANDIDATES[kind]:
        method = method_name(kind, depth, value)
        scores[value] = [
            result["rows"][0]["val"]
            for result in results
            if (result["dataset"], result["method"]) == (dataset, method) and result["seed"] < PLANS[dataset].pilot
        ]
    counts = {len(values) for values in scores.values()}
    if len(counts) > 1 or not max(counts):
        return None
    # Of equals the mildest: the first.
    return max(scores, key=lambda value: (sum(scores[value]) / len(scores[value]), -CANDIDATES[kind].index(value)))
