"""Every setting of a recipe as an option: the declarations are read off the settings' own dataclasses."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Sequence
from dataclasses import MISSING, field, fields, make_dataclass
from typing import Annotated, Any, get_origin, get_type_hints

from cyclopts import Group, Parameter
from docstring_parser import parse_from_object

from girl.errors import InputError
from girl.methods.girl import GIRLSettings
from girl.nn.classifier import ClassifierSettings
from girl.nn.encoder import EncoderSettings
from girl.tables import InputSettings
from girl.training.state import TrainSettings
from girl.training.supervised import TRAINING as TRAINING_OF_LABELS
from girl.training.supervised import RegularizerSettings

COLUMNS = Group("Columns", sort_key=0.5)
ENCODER = Group("Encoder", sort_key=3)
OBJECTIVE = Group("Objective", sort_key=4)
REGULARIZER = Group("Regulariser", sort_key=2.5)
MODEL = Group("Model", sort_key=3)
TRAINING = Group("Training", sort_key=5)


def _options(
    settings: type,
    name: str,
    group: Group,
    said: str = " Default recipe: {}.",
    without: Collection[str] = (),
    of: object = None,
) -> type:
    """A dataclass with the same settings, each None unless it is given: the recipe's value then stands.

    ``said`` is what the help says about a setting's default; settings ``without`` which a command does are left out.
    Defaults are those ``of`` an instance, if given.
    """
    described = {p.arg_name: " ".join((p.description or "").split()) for p in parse_from_object(settings).params}
    kinds = get_type_hints(settings)
    made: list[Any] = []
    for item in [f for f in fields(settings) if f.name not in without]:
        value = item.default if of is None else getattr(of, item.name)
        default = "by the smoother" if value in (None, MISSING) else _shown(value)
        several = get_origin(kinds[item.name]) is tuple
        kind = list[kinds[item.name].__args__[0]] if several else kinds[item.name]  # type: ignore[misc]
        text = described[item.name] + said.format(default)
        parameter = Parameter(
            help=text, group=group, show_default=False, consume_multiple=several, negative=None if kind is bool else ""
        )
        made.append((item.name, Annotated[kind | None, parameter], field(default=None)))
    options = make_dataclass(name, made, frozen=True)
    options.__module__ = __name__  # Python 3.11 says "types", which cyclopts takes for a built-in kind
    return options


def _shown(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


EncoderOptions = _options(EncoderSettings, "EncoderOptions", ENCODER)
ObjectiveOptions = _options(GIRLSettings, "ObjectiveOptions", OBJECTIVE)
TrainOptions = _options(TrainSettings, "TrainOptions", TRAINING)

#: For a graph that is read from files, its direction is read too.
GraphEncoderOptions = _options(EncoderSettings, "GraphEncoderOptions", ENCODER, without=["directed"])
InputOptions = _options(InputSettings, "InputOptions", COLUMNS, said="")

ModelOptions = _options(ClassifierSettings, "ModelOptions", MODEL, said=" Default: {}.", without=["adjacent"])
RegularizerOptions = _options(RegularizerSettings, "RegularizerOptions", REGULARIZER, said=" Default: {}.")
SupervisedOptions = _options(
    TrainSettings,
    "SupervisedOptions",
    TRAINING,
    said=" Default: {}.",
    without=["progress", "weight_decay"],
    of=TRAINING_OF_LABELS,
)

#: Nothing given.
NO_ENCODER, NO_OBJECTIVE, NO_TRAIN = EncoderOptions(), ObjectiveOptions(), TrainOptions()
NO_MODEL, NO_REGULARIZER, NO_SUPERVISED = ModelOptions(), RegularizerOptions(), SupervisedOptions()
NO_GRAPH_ENCODER, NO_INPUT = GraphEncoderOptions(), InputOptions()


def given(*options: Any) -> dict[str, Any]:
    """The settings that were given on the command line."""
    found: dict[str, Any] = {}
    for group in options:
        found |= {name: value for name, value in vars(group).items() if value is not None}
    return found


def assigned(settings: Sequence[str]) -> dict[str, Any]:
    """Settings that were given as NAME=VALUE; a value is read as in a TOML file, and else is a word."""
    found: dict[str, Any] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError(f"--set: given {text!r}, expected NAME=VALUE, as in --set temperature=0.5")
        try:
            found[name.strip().replace("-", "_")] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found[name.strip().replace("-", "_")] = value.strip()
    return found
