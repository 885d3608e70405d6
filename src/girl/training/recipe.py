"""A recipe: all settings of a run, as a value that a file, the command line and a record can hold."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from girl.datasets.registry import DATASETS
from girl.errors import InputError
from girl.methods.bands import BandSettings
from girl.methods.girl import GIRLSettings
from girl.methods.graph_bands import GraphBandSettings
from girl.methods.registry import find_method, method_of
from girl.nn.encoder import EncoderSettings
from girl.settings import plain
from girl.training.state import TrainSettings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")

#: Settings of methods that put bands together, and have no layers to train.
BAND_METHODS = (BandSettings, GraphBandSettings)


@dataclass(frozen=True)
class Recipe:
    """The settings of encoder, method and training. ``Recipe()`` is the default, meant for any graph.

    A set of graphs has a default of its own: :meth:`graphs_default`. Given ``Recipe()``, sets use that one.

    The default puts an embedding together from bands of the graph and has no layers to train. All other recipes train
    an encoder; :meth:`encoder_default` is the one for any graph.

    Example:
        >>> import girl
        >>> girl.Recipe().with_values({"dim": 64}).name
        'bands'
        >>> recipe = girl.Recipe.load("cora").with_values({"epochs": 5, "encoder": {"hidden": 64}})
        >>> recipe.name, recipe.train.epochs, recipe.encoder.hidden
        ('girl', 5, 64)
    """

    encoder: EncoderSettings = field(default_factory=lambda: EncoderSettings(normalize="none"))
    method: DataclassInstance = field(default_factory=BandSettings)
    """The settings of one of :func:`girl.methods.names`; their type decides which."""
    train: TrainSettings = field(default_factory=TrainSettings)

    @classmethod
    def encoder_default(cls) -> Recipe:
        """GIRL's encoder, for any graph: the recipe ``encoder``."""
        return cls(EncoderSettings(), GIRLSettings(), TrainSettings())

    @classmethod
    def graphs_default(cls) -> Recipe:
        """The default for sets of graphs: bands of whole graphs."""
        return cls(method=GraphBandSettings())

    @classmethod
    def default_for(cls, values: dict[str, Any], graphs: bool = False) -> Recipe:
        """The default recipe for one graph, or for a set of ``graphs``.

        For settings of an encoder, its objective or its training it is one that trains: ``encoder``, or ``graphs``.
        """
        if _trains_encoder(values):
            return cls.load("graphs") if graphs else cls.encoder_default()
        return cls.graphs_default() if graphs else cls()

    @property
    def trains(self) -> bool:
        """Whether it trains an encoder; the defaults do not."""
        return not isinstance(self.method, BAND_METHODS)

    @classmethod
    def load(cls, source: str | Path) -> Recipe:
        """A shipped recipe by its name (see :meth:`names`), or one from a TOML, YAML or JSON file.

        A file lists what differs from the default, in the sections ``encoder``, ``method`` and ``train`` or without
        sections; see :meth:`default_for`.
        """
        if source == "default":
            return cls()
        if source == "encoder":
            return cls.encoder_default()
        if source in cls.names():
            text = resources.files("girl.training.recipes").joinpath(f"{source}.toml").read_text(encoding="utf-8")
            return cls.encoder_default().with_values(tomllib.loads(text), f"{source}.toml")
        values = _read_values(Path(source))
        return cls.default_for(values).with_values(values, str(source))

    @staticmethod
    def names() -> list[str]:
        """The names of the shipped recipes: default, encoder, paper (as printed), those of datasets, and others."""
        files = resources.files("girl.training.recipes").iterdir()
        return [
            "default",
            "encoder",
            *sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")),
        ]

    @property
    def name(self) -> str:
        """The name of the method."""
        return method_of(self.method).name

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """All settings by section, as JSON values; ``method.name`` is the method."""
        sections = {section.name: plain(getattr(self, section.name)) for section in fields(self)}
        return sections | {"method": {"name": self.name, **sections["method"]}}

    def with_values(self, values: dict[str, Any], where: str = "recipe") -> Recipe:
        """A copy with other values.

        Args:
            values: by section, ``{"train": {"lr": 0.01}}``, or by name alone, ``{"lr": 0.01}``.
                ``{"method": {"name": "dgi"}}`` changes the method, to its default settings; so do encoder and training
            if the default recipe, which has neither, is left or entered.
            where: the origin of the values, for error messages.
        """
        section, base = values.get("method"), self
        if isinstance(section, dict) and "name" in section:
            entry = find_method(section["name"], where)
            if entry.settings is not type(self.method):
                if entry.settings in BAND_METHODS or not self.trains:
                    base = Recipe() if entry.settings in BAND_METHODS else Recipe.encoder_default()
                base = replace(base, method=entry.settings())
            values = values | {"method": {key: value for key, value in section.items() if key != "name"}}
        return replace_settings(base, values, where)

    def with_seed(self, seed: int) -> Recipe:
        """A copy with another seed."""
        return replace(self, train=replace(self.train, seed=seed))


def _read_values(path: Path) -> dict[str, Any]:
    """The values in a recipe's file."""
    if not path.exists():
        names = ", ".join(Recipe.names())
        raise InputError(f"{path}: no such file, and no recipe of that name; expected one of {names}")
    parsers: dict[str, Callable[[str], Any]] = {
        ".toml": tomllib.loads,
        ".json": json.loads,
        ".yaml": _load_yaml,
        ".yml": _load_yaml,
    }
    if (parse := parsers.get(path.suffix.lower())) is None:
        raise InputError(f"{path}: given a file ending in {path.suffix!r}, expected .toml, .yaml or .json")
    try:
        values = parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, yaml.YAMLError, json.JSONDecodeError) as error:
        raise InputError(f"{path}: not readable: {' '.join(str(error).split())}") from error
    if not isinstance(values, dict):
        raise InputError(f"{path}: given a {type(values).__name__}, expected settings by name")
    return values


def _trains_encoder(values: dict[str, Any]) -> bool:
    """Whether settings are of a recipe that trains an encoder."""
    flat = {name for key, value in values.items() for name in (value if isinstance(value, dict) else [key])}
    settings = (EncoderSettings, GIRLSettings, TrainSettings)
    return bool(flat & ({item.name for kind in settings for item in fields(kind)} - {"normalize", "directed", "seed"}))


def tuned_recipe(dataset: str) -> Recipe:
    """The recipe chosen for a dataset on its validation nodes; else the default, or that of sets of graphs."""
    if dataset in Recipe.names():
        return Recipe.load(dataset)
    entry = DATASETS.get(dataset)
    return Recipe.graphs_default() if entry is not None and entry.graphs else Recipe()


def method_recipe(method: str, dataset: str | None = None) -> Recipe:
    """The recipe of a method's publication, with what it changes for a dataset.

    For GIRL it is :func:`tuned_recipe`, and without a dataset the recipe ``encoder``.
    """
    if method == "girl":
        return Recipe.encoder_default() if dataset is None else tuned_recipe(dataset)
    values = tomllib.loads(find_method(method).recipe())
    by_dataset = values.pop("datasets", {})
    recipe = Recipe().with_values({"method": {"name": method}}).with_values(values, f"recipe of {method}")
    return recipe.with_values(by_dataset.get(dataset, {}), f"recipe of {method} for {dataset}")


def _load_yaml(text: str) -> Any:
    """YAML with numbers such as 1e-3 as numbers: YAML 1.1 reads them as text, and expects 1.0e-3."""

    def with_numbers(value: Any) -> Any:
        if isinstance(value, dict):
            return {str(key): with_numbers(inner) for key, inner in value.items()}
        number = isinstance(value, str) and re.fullmatch(r"[+-]?\d+(\.\d*)?[eE][+-]?\d+", value)
        return float(value) if number else value

    return with_numbers(yaml.safe_load(text) or {})


def replace_settings(recipe: R, values: dict[str, Any], where: str) -> R:
    """A copy of a recipe with other values.

    Args:
        recipe: a dataclass whose fields are dataclasses of settings.
        values: by section, ``{"train": {"lr": 0.01}}``, or by name alone.
        where: the origin of the values, for error messages.
    """
    sections = {section.name: getattr(recipe, section.name) for section in fields(recipe)}
    names = {section: [item.name for item in fields(settings)] for section, settings in sections.items()}
    changes: dict[str, dict[str, Any]] = {section: {} for section in sections}
    for key, value in values.items():
        if key in sections and isinstance(value, dict):
            if unknown := next((name for name in value if name not in names[key]), None):
                raise _unknown_setting(where, f"{key}.{unknown}", names[key])
            changes[key] |= value
        elif owner := next((section for section in sections if key in names[section]), None):
            changes[owner][key] = value
        else:
            raise _unknown_setting(where, key, [name for section in names.values() for name in section])
    for section, change in changes.items():
        for name, value in change.items():
            if not isinstance(getattr(sections[section], name), tuple):
                continue
            if not isinstance(value, list | tuple) or not all(isinstance(item, str | float | int) for item in value):
                raise InputError(f"{where}: {name}: given {value!r}, expected a list")
            change[name] = tuple(value)
    try:
        return replace(recipe, **{section: replace(sections[section], **change) for section, change in changes.items()})
    except (InputError, TypeError) as error:
        raise InputError(f"{where}: {error}") from error


def _unknown_setting(where: str, key: str, names: list[str]) -> InputError:
    for settings, recipe in ((GIRLSettings, "encoder"), (BandSettings, "default")):
        if key.split(".")[-1] in [item.name for item in fields(settings)]:
            return InputError(f"{where}: {key}: given with another recipe, expected the recipe {recipe}, which has it")
    near = difflib.get_close_matches(key.split(".")[-1], names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return InputError(f"{where}: no setting is called {key!r}{hint} Known: {', '.join(names)}")
