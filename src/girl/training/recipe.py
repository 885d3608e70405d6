"""A recipe: everything that makes a run, as one value that is the command line, the file and the record of it."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from girl.datasets.registry import DATASETS
from girl.errors import InputError
from girl.methods.girl import GIRLSettings
from girl.methods.registry import find_method, method_of
from girl.nn.encoder import EncoderSettings
from girl.settings import plain
from girl.training.state import TrainSettings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")


@dataclass(frozen=True)
class Recipe:
    """Encoder, method and training of a run. Without arguments: the default that is meant for any graph."""

    encoder: EncoderSettings = field(default_factory=EncoderSettings)
    method: DataclassInstance = field(default_factory=GIRLSettings)
    """Settings of a method of :mod:`girl.methods.registry`: their type says which."""
    train: TrainSettings = field(default_factory=TrainSettings)

    @property
    def name(self) -> str:
        """The method's."""
        return method_of(self.method).name

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Sections of plain values, as in a file."""
        sections = {section.name: plain(getattr(self, section.name)) for section in fields(self)}
        return sections | {"method": {"name": self.name, **sections["method"]}}

    def with_values(self, values: dict[str, Any], where: str = "recipe") -> Recipe:
        """With other values: sections (``{"train": {"lr": 0.01}}``), or settings by their own unique names.

        Another method is named by ``{"method": {"name": "dgi"}}``; its settings are then the method's own.

        Args:
            values: what differs.
            where: what the values came from, for messages.
        """
        section, base = values.get("method"), self
        if isinstance(section, dict) and "name" in section:
            entry = find_method(section["name"], where)
            if entry.settings is not type(self.method):
                base = replace(self, method=entry.settings())
            values = values | {"method": {key: value for key, value in section.items() if key != "name"}}
        return changed(base, values, where)

    def with_seed(self, seed: int) -> Recipe:
        """The same with another seed."""
        return replace(self, train=replace(self.train, seed=seed))


def read_recipe(path: Path) -> Recipe:
    """A recipe from a TOML, YAML or JSON file; what it does not say is as in the default."""
    if not path.exists():
        raise InputError(f"{path}: no such file, and no recipe of that name; expected one of {', '.join(shipped())}")
    try:
        text = path.read_text(encoding="utf-8")
        match path.suffix.lower():
            case ".toml":
                values = tomllib.loads(text)
            case ".yaml" | ".yml":
                values = _numbers(yaml.safe_load(text) or {})
            case ".json":
                values = json.loads(text)
            case other:
                raise InputError(f"{path}: given a file ending in {other!r}, expected .toml, .yaml or .json")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, yaml.YAMLError, json.JSONDecodeError) as error:
        raise InputError(f"{path}: not readable: {' '.join(str(error).split())}") from error
    if not isinstance(values, dict):
        raise InputError(f"{path}: given a {type(values).__name__}, expected settings by name")
    return Recipe().with_values(values, str(path))


def shipped() -> list[str]:
    """Names of the recipes that come with the package."""
    files = resources.files("girl.training.recipes").iterdir()
    return ["default", *sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))]


def find_recipe(name: str) -> Recipe:
    """A shipped recipe by its name (``default``, ``paper``, or that of a dataset), or one from a file."""
    if name == "default":
        return Recipe()
    if name in shipped():
        text = resources.files("girl.training.recipes").joinpath(f"{name}.toml").read_text(encoding="utf-8")
        return Recipe().with_values(tomllib.loads(text), f"{name}.toml")
    return read_recipe(Path(name))


def tuned_recipe(dataset: str) -> Recipe:
    """The recipe chosen for a dataset on its validation nodes; else the default, of sets of graphs if it is one."""
    if dataset in shipped():
        return find_recipe(dataset)
    known = DATASETS.get(dataset)
    return find_recipe("graphs") if known is not None and known.graphs else Recipe()


def method_recipe(method: str, dataset: str | None = None) -> Recipe:
    """The recipe that a method's own publication gives, for a dataset if it says something about it.

    That of GIRL is the one chosen for the dataset.
    """
    if method == "girl":
        return Recipe() if dataset is None else tuned_recipe(dataset)
    entry = find_method(method)
    values = tomllib.loads(entry.recipe())
    special = values.pop("datasets", {})
    found = Recipe().with_values({"method": {"name": method}}).with_values(values, f"recipe of {method}")
    return found.with_values(special.get(dataset, {}), f"recipe of {method} for {dataset}")


def _numbers(value: Any) -> Any:
    """With numbers such as 1e-3 read as numbers, which YAML 1.1 takes for words: it wants 1.0e-3."""
    if isinstance(value, dict):
        return {str(key): _numbers(inner) for key, inner in value.items()}
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d+(\.\d*)?[eE][+-]?\d+", value):
        return float(value)
    return value


def changed(recipe: R, values: dict[str, Any], where: str) -> R:
    """A recipe of sections with other values.

    Args:
        recipe: a dataclass whose fields are dataclasses of settings.
        values: sections (``{"train": {"lr": 0.01}}``), or settings by their own unique names.
        where: what the values came from, for messages.
    """
    sections = {section.name: getattr(recipe, section.name) for section in fields(recipe)}
    names = {section: [item.name for item in fields(settings)] for section, settings in sections.items()}
    changes: dict[str, dict[str, Any]] = {section: {} for section in sections}
    for key, value in values.items():
        if key in sections and isinstance(value, dict):
            for name, inner in value.items():
                if name not in names[key]:
                    raise _unknown(where, f"{key}.{name}", names[key])
                changes[key][name] = inner
        else:
            owner = next((section for section in sections if key in names[section]), None)
            if owner is None:
                raise _unknown(where, key, [name for known in names.values() for name in known])
            changes[owner][key] = value
    for section, change in changes.items():
        for name, value in change.items():
            if not isinstance(getattr(sections[section], name), tuple):
                continue
            if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
                raise InputError(f"{where}: {name}: given {value!r}, expected a list of names")
            change[name] = tuple(value)
    try:
        return replace(recipe, **{section: replace(sections[section], **change) for section, change in changes.items()})
    except (InputError, TypeError) as error:
        raise InputError(f"{where}: {error}") from error


def _unknown(where: str, key: str, known: list[str]) -> InputError:
    near = difflib.get_close_matches(key.split(".")[-1], known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return InputError(f"{where}: no setting is called {key!r}{hint or '.'} Known: {', '.join(known)}")
