"""The proof of the default: what it gives without labels and without a choice, beside controls of the same width."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from girl import splits
from girl.cli.app import RUN
from girl.errors import InputError
from girl.evaluation.controls import CONTROLS, control
from girl.evaluation.scores import score_splits
from girl.lab.cells import Cell
from girl.lab.experiment import CellExperiment, Count, DatasetNames, several
from girl.lab.nodes import PROTOCOLS, Nodes
from girl.training.batch import make_batch
from girl.training.recipe import Recipe
from girl.training.run import pretrain
from girl.training.untrained import embed_untrained

#: Each dataset with its protocols, the one with the fewest labels first.
DEFAULT_PROTOCOLS: dict[str, tuple[str, ...]] = {
    **{name: protocols for name, protocols in PROTOCOLS.items() if name != "usa-airports-structural"},
    "minesweeper": ("official",),
    "squirrel-filtered": ("official",),
    "amherst41": ("random-60-20-20",),
    "digits": ("random-10-10-80", "random-60-20-20"),
}
#: Graphs that are in no other table. The first five were looked at when the default was designed, the last three not.
OTHER_PROTOCOLS: dict[str, tuple[str, ...]] = {
    "wisconsin": ("geom-gcn",),
    "chameleon-filtered": ("official",),
    "tolokers": ("official",),
    "reed98": ("random-60-20-20",),
    "europe-airports": ("random-60-20-20",),
    "cornell": ("geom-gcn",),
    "johnshopkins55": ("random-60-20-20",),
    "brazil-airports": ("random-60-20-20",),
}
#: Features of these only name the nodes: controls are made of positions alone.
WITHOUT_FEATURES = ("usa-airports", "europe-airports", "brazil-airports")
#: Numbers of columns.
WIDTHS = (256, 512)
#: What is computed at each width.
METHODS = (*CONTROLS, "untrained", "default")


@dataclass(frozen=True, kw_only=True)
class Default(CellExperiment):
    """The default on every graph at hand, without labels, beside raw, smoothed and untrained ones of the same width.

    Eight more graphs, which are in no other table, are computed if they are named: wisconsin, chameleon-filtered,
    tolokers, reed98, europe-airports, cornell, johnshopkins55, brazil-airports.

    Writes OUT/default/DATASET.json after every cell; interrupted, the same command goes on.
    """

    name = "default"
    available = (*DEFAULT_PROTOCOLS, *OTHER_PROTOCOLS)

    datasets: DatasetNames = tuple(DEFAULT_PROTOCOLS)
    """which datasets."""
    seeds: Count = 10
    """number of seeds, each with a split of its own where the protocol has several."""
    widths: Annotated[tuple[int, ...], several(RUN)] = WIDTHS
    """numbers of columns."""
    methods: Annotated[tuple[str, ...], several(RUN)] = METHODS
    """raw, sgc, hops, ppr, positions, concatenated, untrained, default."""

    def __post_init__(self) -> None:
        for width in self.widths:
            if width not in WIDTHS:
                raise InputError(f"widths: given {width}, expected some of {', '.join(map(str, WIDTHS))}")

    def recipes(self, dataset: str, seed: int) -> dict[str, Recipe]:
        """Every method at every width; a control has the recipe for its width and seed."""
        methods = [m for m in METHODS if dataset not in WITHOUT_FEATURES or m in ("positions", "untrained", "default")]
        return {
            f"{method} {width}": Recipe().with_values({"dim": width}).with_seed(seed)
            for width in WIDTHS
            for method in methods
        }

    def selects(self, cell: Cell) -> bool:
        """Whether the options ask for the method at this width."""
        method, width = cell.method.rsplit(" ", 1)
        return method in self.methods and int(width) in self.widths

    def compute(self, cell: Cell) -> dict[str, Any]:
        """Embed, and score on the dataset's protocols."""
        dataset = self.load(cell.dataset)
        method, width = cell.method.rsplit(" ", 1)
        recipe = Recipe().with_values(cell.recipe or {})
        batch = make_batch(dataset.data, recipe.encoder)
        choices: dict[str, Any] = {}
        if method == "default":
            run = pretrain(batch, recipe)
            assert run.vectors is not None
            h, choices = run.vectors, run.config["choices"]
        elif method == "untrained":
            h = embed_untrained(batch, recipe)
        else:
            h = control(method, batch, int(width), cell.seed)
        rows = []
        for protocol in {**DEFAULT_PROTOCOLS, **OTHER_PROTOCOLS}[cell.dataset]:
            (score,) = score_splits(cell.method, h, dataset, splits.get(protocol), [cell.seed]).scores
            rows.append({"protocol": protocol, "probe": "linear", "metric": score.metric, "val": score.val, "test": score.test})  # fmt: skip  # noqa: E501
        return {"stand_in": dataset.stand_in, "rows": rows, "choices": choices, "columns": h.shape[1]}

    def render(self, results: Path, folder: Path) -> dict[str, str]:
        """The tables of the default."""
        from girl.lab.tables import default

        return default.render(self.current(results), Nodes().scores(results))
