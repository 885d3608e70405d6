"""What an experiment is: cells that are computed once, and tables and figures that are rendered from their results."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import joblib
import torch
from cyclopts import Group, Parameter
from rich.console import Console

from girl import datasets
from girl.cli.app import DATA, RUN
from girl.datasets.dataset import NodeDataset
from girl.errors import InputError
from girl.lab.cells import Cell, Results
from girl.lab.peak_memory import peak_bytes
from girl.lab.provenance import provenance
from girl.training.recipe import Recipe
from girl.training.supervised import SupervisedRecipe

#: The methods of a table on one dataset with their recipes; None where nothing is trained.
Recipes = Mapping[str, Recipe | SupervisedRecipe | None]


def several(group: Group) -> Parameter:
    """An option with several values."""
    return Parameter(group=group, consume_multiple=True, negative="", show_default=_listed)


def _listed(values: Sequence[object]) -> str:
    return ", ".join(map(str, values)) or "all"


#: Options of the commands.
DatasetNames = Annotated[tuple[str, ...], several(DATA)]
Count = Annotated[int, Parameter(group=RUN)]
Folder = Annotated[Path | None, Parameter(group=DATA)]


@dataclass(frozen=True, kw_only=True)
class Experiment(ABC):
    """An experiment, declared once.

    To add one, write a module with a subclass of this class or of :class:`CellExperiment`, and name it in
    :mod:`girl.lab.registry`. From then on ``girl reproduce NAME`` runs it, and ``python -m girl.lab.render`` renders
    its tables and figures. The class docstring is the help of the command, and the fields are its options.
    """

    name: ClassVar[str]
    """Of the command, and of its results."""
    default_jobs: ClassVar[int] = 1
    """Processes, if the command does not say."""

    @property
    def command(self) -> str:
        """What computes it."""
        return f"girl reproduce {self.name}"

    @abstractmethod
    def run(self, out: Path, jobs: int, console: Console) -> None:
        """Compute what is missing below ``out``, with ``jobs`` processes, and save it there."""

    @abstractmethod
    def render(self, results: Path, folder: Path) -> dict[str, str]:
        """Draw the figures into ``folder``; returns Markdown with tables and captions, by the name of its file."""


@dataclass(frozen=True, kw_only=True)
class CellExperiment(Experiment):
    """An experiment on datasets: methods × seeds.

    A subclass says by :meth:`recipes` which methods there are, and by that which cells; :meth:`compute` computes one;
    :meth:`stages` is for experiments in which the results of some cells decide which others are computed.

    Results are in ``results/NAME/DATASET.json``, saved after every cell. An interrupted command goes on where it
    stopped; a cell whose recipe has changed is computed again.
    """

    available: ClassVar[tuple[str, ...]]
    """The datasets that it can be computed on."""
    probes: Annotated[tuple[Any, ...], Parameter(parse=False)] = ()
    """A result that lacks one of these is computed again."""
    datasets: DatasetNames
    """which datasets."""
    seeds: Count
    """number of seeds."""
    data_root: Folder = None
    """where datasets are kept; by default GIRL_DATA or the user's cache folder."""
    mirror: Folder = None
    """a folder of raw files to copy from instead of downloading; by default GIRL_MIRROR."""

    @abstractmethod
    def recipes(self, dataset: str, seed: int) -> Recipes:
        """Every method of the table on this dataset, with its recipe for this seed."""

    @abstractmethod
    def compute(self, cell: Cell) -> dict[str, Any]:
        """The result of a cell: ``rows`` with a score for each protocol and probe, and what training took."""

    def selects(self, cell: Cell) -> bool:
        """Whether the options ask for a cell."""
        return True

    def cells(self) -> list[Cell]:
        """The cells that the options ask for, seed by seed: an interrupted run has every row of its first seeds."""
        return [cell for cell in self._declared(self.datasets, self.seeds) if self.selects(cell)]

    def stages(self, results: Results) -> Iterator[list[Cell]]:
        """The cells in the order of their computation: each stage is computed before the next one is asked for."""
        yield self.cells()

    def checked(self) -> Self:
        """The same with datasets by their own names, whatever their capitals; a mistake in the options is an error."""
        names = tuple(datasets.describe(name).name for name in self.datasets)
        for name in names:
            if name not in self.available:
                raise InputError(f"dataset: given {name!r}, expected one of {', '.join(self.available)}")
        if self.seeds < 1:
            raise InputError(f"--seeds: given {self.seeds}, expected at least 1")
        return replace(self, datasets=names)

    def run(self, out: Path, jobs: int, console: Console) -> None:
        """Compute the cells that are missing, ``jobs`` at a time, and save each when it is done."""
        check_jobs(jobs)
        experiment = self.checked()
        results = Results(out / self.name)
        for cells in experiment.stages(results):
            experiment._run(cells, results, jobs, console)

    def current(self, results: Path) -> list[dict[str, Any]]:
        """The saved results whose recipes are those of today: others are of another experiment."""
        saved = Results(results / self.name).all()
        seeds = 1 + max((result["seed"] for result in saved), default=-1)
        declared = {cell.key for cell in self._declared(sorted({result["dataset"] for result in saved}), seeds)}
        return [result for result in saved if Cell.of(result).key in declared]

    def load(self, dataset: str) -> NodeDataset:
        """A dataset, cached for the cells that follow: most are of the same one."""
        return _load(dataset, self.data_root, self.mirror)

    def _declared(self, names: Sequence[str], seeds: int) -> Iterator[Cell]:
        for seed in range(seeds):
            for dataset in names:
                for method, recipe in self.recipes(dataset, seed).items():
                    yield Cell(dataset, method, seed, None if recipe is None else recipe.to_dict())

    def _run(self, cells: Sequence[Cell], results: Results, jobs: int, console: Console) -> None:
        missing = results.missing(cells, self.probes)
        if not missing:
            console.print("every cell is there already")
            return
        origin = provenance()
        work = (joblib.delayed(_measured)(self.compute, cell) for cell in missing)
        started = time.monotonic()
        for count, (cell, result) in enumerate(joblib.Parallel(jobs, return_as="generator_unordered")(work), 1):
            results.add(cell, result | {"provenance": origin})
            left = (time.monotonic() - started) / count * (len(missing) - count)
            scores = "  ".join(f"{row['protocol']} {100 * row['val']:.1f}" for row in result["rows"])
            console.print(
                f"{count}/{len(missing)}  {cell.dataset} {cell.method} {cell.seed}  val {scores}  "
                f"{result['seconds']:.0f} s  about {left / 60:.0f} min left",
                highlight=False,
                soft_wrap=True,
            )


def check_jobs(jobs: int) -> None:
    """Refuse 0 processes."""
    if not jobs:
        raise InputError("--jobs: given 0, expected a number of processes, or -1 for one on each core")


def _measured(compute: Callable[[Cell], dict[str, Any]], cell: Cell) -> tuple[Cell, dict[str, Any]]:
    torch.set_num_threads(1)  # one cell, one core: the same bits however many run side by side
    started = time.perf_counter()
    result = compute(cell)
    return cell, {
        "seconds": round(time.perf_counter() - started, 2),
        "peak_gb": round(peak_bytes() / 2**30, 3),
        **result,
    }


_load = lru_cache(maxsize=2)(datasets.load)
