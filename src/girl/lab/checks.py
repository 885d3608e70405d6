"""Every method on a dataset of its own paper, under that paper's protocol: is it the method that was published?

Unlike in the comparison there is no limit of time: the published recipe runs to its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from girl.cli.app import RUN
from girl.errors import InputError
from girl.lab.cells import Cell
from girl.lab.experiment import CellExperiment, Count, DatasetNames, several
from girl.lab.graphs import DATASETS as GRAPH_SETS
from girl.lab.graphs import compute_on_graphs
from girl.lab.nodes import compute_on_nodes
from girl.lab.published import table
from girl.training.recipe import Recipe, method_recipe


@dataclass(frozen=True)
class Published:
    """A published accuracy that our implementation should come close to."""

    method: str
    dataset: str
    protocol: str
    accuracy: float
    """In percent."""
    std: float | None
    source: str


PUBLISHED = tuple(
    Published(
        row["method"],
        row["dataset"],
        row["protocol"],
        float(row["accuracy"]),
        float(row["std"]) if row["std"] else None,
        row["source"],
    )
    for row in table("methods")
)


@dataclass(frozen=True, kw_only=True)
class Checks(CellExperiment):
    """Each of the other methods on a dataset of its own paper, under that paper's protocol, beside the published mean.

    Published recipes, without the comparison's limit of time. Writes OUT/checks/DATASET.json after every cell;
    interrupted, the same command goes on.
    """

    name = "checks"
    available = tuple(dict.fromkeys(one.dataset for one in PUBLISHED))

    datasets: DatasetNames = tuple(dict.fromkeys(one.dataset for one in PUBLISHED))
    """on which datasets."""
    methods: Annotated[tuple[str, ...], several(RUN)] = ()
    """which methods, by name."""
    seeds: Count = 3
    """number of seeds, each with a split of its own where the protocol has several."""

    def recipes(self, dataset: str, seed: int) -> dict[str, Recipe]:
        """The published recipes of the methods whose papers report this dataset."""
        names = [one.method for one in PUBLISHED if one.dataset == dataset]
        return {name: method_recipe(name, dataset).with_seed(seed) for name in names}

    def selects(self, cell: Cell) -> bool:
        """Whether the method is asked for."""
        return not self.methods or cell.method in self.methods

    def checked(self) -> Self:
        """As for any experiment; methods must be known, and published on one of the datasets."""
        names = dict.fromkeys(one.method for one in PUBLISHED)
        for name in self.methods:
            if name not in names:
                raise InputError(f"method: given {name!r}, expected one of {', '.join(names)}")
        checked = super().checked()
        if not checked.cells():
            pairs = ", ".join(f"{one.method} on {one.dataset}" for one in PUBLISHED if one.method in self.methods)
            options = f"{', '.join(self.methods)} on {', '.join(checked.datasets)}"
            raise InputError(f"nothing to check: given {options}, published are {pairs}")
        return checked

    def compute(self, cell: Cell) -> dict[str, Any]:
        """As the tables on nodes and on sets of graphs do, under the paper's protocol, too."""
        dataset = self.load(cell.dataset)
        if cell.dataset in GRAPH_SETS:
            return compute_on_graphs(cell, dataset)
        protocols = [one.protocol for one in PUBLISHED if (one.dataset, one.method) == (cell.dataset, cell.method)]
        return compute_on_nodes(cell, dataset, protocols=protocols)

    def render(self, results: Path, folder: Path) -> dict[str, str]:
        """Our means beside the published ones."""
        from girl.lab.tables import checks

        return checks.render(self.current(results))
