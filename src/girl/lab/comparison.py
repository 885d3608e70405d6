"""Comparisons of GIRL with other methods, on equal terms: each method with its own encoder and with GIRL's.

Both encoders are tried on the first seed, and the one with the higher validation score is used on the others. What a
method is worth should not depend on an encoder that suits the dataset less than GIRL's does.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from girl.cli.app import RUN
from girl.errors import InputError
from girl.lab.cells import Cell, Results
from girl.lab.experiment import CellExperiment, several
from girl.lab.scores import MethodScores
from girl.methods.registry import find_method, methods
from girl.training.recipe import Recipe, method_recipe

#: Ends the name of a method that has GIRL's encoder for the dataset.
GIRLS_ENCODER = " same"

#: Seeds that every method of the comparison has: means over more splits could not be compared.
COMPARED_SEEDS = 5


@dataclass(frozen=True, kw_only=True)
class Comparison(CellExperiment):
    """GIRL, its baselines, and the other methods."""

    own_methods: ClassVar[tuple[str, ...]]
    """GIRL and its baselines: what is computed by default."""
    other_level: ClassVar[str]
    """The level of the methods that do not take part: nodes or graphs."""
    time_limit: ClassVar[float]
    """Seconds of training, on one core, that every method has."""
    compared: ClassVar[tuple[tuple[str, str], ...]]
    """Rows of the comparison: datasets with their protocols."""
    baselines: ClassVar[tuple[str, ...]]
    """Columns of the comparison that are not ranked."""

    methods: Annotated[tuple[str, ...], several(RUN)]
    """which methods, by name, or "all"."""

    @abstractmethod
    def own_recipe(self, method: str, dataset: str) -> Recipe | None:
        """The recipe of one of :attr:`own_methods`; None if it is not trained."""

    @property
    def peers(self) -> tuple[str, ...]:
        """The other methods, also those that other packages bring."""
        own = ("girl", "bands", "graph-bands")
        return tuple(name for name, entry in methods().items() if entry.level != self.other_level and name not in own)

    def recipe(self, method: str, dataset: str) -> Recipe | None:
        """The recipe of any method."""
        if method in self.own_methods:
            return self.own_recipe(method, dataset)
        return peer_recipe(method, dataset, self.time_limit)

    def recipes(self, dataset: str, seed: int) -> dict[str, Recipe | None]:
        """GIRL, its baselines, and every other method with both encoders."""
        names = (*self.own_methods, *both_encoders(self.peers))
        recipes = {name: self.recipe(name, dataset) for name in names}
        return {name: None if recipe is None else recipe.with_seed(seed) for name, recipe in recipes.items()}

    def selects(self, cell: Cell) -> bool:
        """Whether the method is asked for, with whichever encoder."""
        if "all" in self.methods:
            return True
        return cell.method.removesuffix(GIRLS_ENCODER) in self.methods

    def checked(self) -> Self:
        """As for any experiment; methods must be known, too."""
        names = (*self.own_methods, *self.peers, "all")
        for name in self.methods:
            if name not in names:
                raise InputError(f"method: given {name!r}, expected one of {', '.join(names)}")
        return super().checked()

    def stages(self, results: Results) -> Iterator[list[Cell]]:
        """GIRL and its baselines; the other methods on the first seed; on the other seeds with the chosen encoder."""
        cells = self.cells()
        peers = both_encoders(self.peers)
        if first := [cell for cell in cells if cell.method not in peers]:
            yield first
        others = [cell for cell in cells if cell.method in peers]
        if others:
            yield [cell for cell in others if cell.seed == 0]
            saved = [result for dataset in self.datasets for result in results.of(dataset)]
            names = {cell.method.removesuffix(GIRLS_ENCODER) for cell in others}
            chosen = {(dataset, chosen_encoder(saved, dataset, name)) for dataset in self.datasets for name in names}
            if rest := [cell for cell in others if cell.seed and (cell.dataset, cell.method) in chosen]:
                yield rest

    def scores(self, results: Path) -> MethodScores:
        """The results of the comparison, each method with the encoder that was chosen for it."""
        columns = (*self.baselines, "girl", *both_encoders(self.peers))
        saved = [r for r in self.current(results) if r["seed"] < COMPARED_SEEDS and r["method"] in columns]
        return MethodScores(
            with_chosen_encoder(saved, self.peers),
            self.probes[0],
            name=self.name,
            compared=self.compared,
            baselines=self.baselines,
            methods=("girl", *self.peers),
        )


@cache
def peer_recipe(method: str, dataset: str, time_limit: float) -> Recipe:
    """The published recipe of a method, with a limit of time; the encoder is GIRL's if the name says so."""
    name = method.removesuffix(GIRLS_ENCODER)
    published = method_recipe(name, dataset).with_values({"train": {"time_limit": time_limit}})
    if method == name:
        return published
    # What the method does not work without stays as published.
    encoder = method_recipe("girl", dataset).with_values({"encoder": find_method(name).required_encoder}).encoder
    return replace(published, encoder=encoder)


def both_encoders(names: Sequence[str]) -> list[str]:
    """Each method with its own encoder and with GIRL's."""
    return [name for method in names for name in (method, method + GIRLS_ENCODER)]


def chosen_encoder(results: Sequence[dict[str, Any]], dataset: str, method: str) -> str | None:
    """The name with the higher validation score on the first seed and protocol; None until both are computed."""
    scores = {
        result["method"]: result["rows"][0]["val"]
        for result in results
        if result["dataset"] == dataset and result["seed"] == 0 and result["method"] in both_encoders([method])
    }
    return max(both_encoders([method]), key=scores.__getitem__) if len(scores) == 2 else None


def with_chosen_encoder(results: Sequence[dict[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """The results, those of other methods with the chosen encoder only and under the name of the method alone."""
    chosen = {
        (dataset, choice): method
        for dataset in {result["dataset"] for result in results}
        for method in names
        if (choice := chosen_encoder(results, dataset, method)) is not None
    }
    renamed = []
    for result in results:
        if result["method"] not in both_encoders(names):
            renamed.append(result)
        elif (method := chosen.get((result["dataset"], result["method"]))) is not None:
            encoder = "GIRL's" if result["method"].endswith(GIRLS_ENCODER) else "its own"
            renamed.append(result | {"method": method, "encoder": encoder})
    return renamed
