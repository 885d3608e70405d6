"""Every setting of a recipe as an option, read from the settings' own dataclasses."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Sequence
from dataclasses import MISSING, field, fields, make_dataclass
from typing import Annotated, Any, get_origin, get_type_hints

from cyclopts import Group, Parameter
from docstring_parser import parse_from_object

from girl.errors import InputError
from girl.methods.bands import BandSettings
from girl.methods.girl import GIRLSettings
from girl.nn.classifier import ClassifierSettings
from girl.nn.encoder import EncoderSettings
from girl.tables import InputSettings
from girl.training.state import TrainSettings
from girl.training.supervised import TRAINING as TRAINING_OF_LABELS
from girl.training.supervised import RegularizerSettings

COLUMNS = Group("Columns", sort_key=0.5)
BANDS = Group("Bands (of the default recipe)", sort_key=2)
ENCODER = Group("Encoder (selects the recipe encoder)", sort_key=3)
OBJECTIVE = Group("Objective (selects the recipe encoder)", sort_key=4)
REGULARIZER = Group("Regulariser", sort_key=2.5)
MODEL = Group("Model", sort_key=3)
TRAINING = Group("Training", sort_key=5)


def _options(
    settings: type,
    name: str,
    group: Group,
    default_text: str = " By default {}.",
    without: Collection[str] = (),
    defaults: object = None,
) -> type:
    """A dataclass with the same fields as a settings class, each None unless it is given on the command line.

    Args:
        settings: the settings class; its field docstrings become the help.
        name: the name of the new class.
        group: the heading in ``--help``.
        default_text: how the help shows a default.
        without: fields to leave out.
        defaults: an instance whose values are shown as defaults; by default those of the class.
    """
    descriptions = {p.arg_name: " ".join((p.description or "").split()) for p in parse_from_object(settings).params}
    types = get_type_hints(settings)
    options: list[Any] = []
    for item in [f for f in fields(settings) if f.name not in without]:
        value = item.default if defaults is None else getattr(defaults, item.name)
        default = "by the smoother" if value in (None, MISSING) else _as_text(value) or "chosen by the judge"
        is_tuple = get_origin(types[item.name]) is tuple
        kind = list[types[item.name].__args__[0]] if is_tuple else types[item.name]  # type: ignore[misc]
        parameter = Parameter(
            help=descriptions[item.name] + default_text.format(default),
            group=group,
            show_default=False,
            consume_multiple=is_tuple,
            negative=None if kind is bool else "",
        )
        options.append((item.name, Annotated[kind | None, parameter], field(default=None)))
    made = make_dataclass(name, options, frozen=True)
    made.__module__ = __name__  # Python 3.11 says "types", which cyclopts takes for a built-in type
    return made


def _as_text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


BandOptions = _options(BandSettings, "BandOptions", BANDS)
EncoderOptions = _options(EncoderSettings, "EncoderOptions", ENCODER)
ObjectiveOptions = _options(GIRLSettings, "ObjectiveOptions", OBJECTIVE)
TrainOptions = _options(TrainSettings, "TrainOptions", TRAINING)

#: For a graph from files, whether it is directed is read from the files.
GraphEncoderOptions = _options(EncoderSettings, "GraphEncoderOptions", ENCODER, without=["directed"])
InputOptions = _options(InputSettings, "InputOptions", COLUMNS, default_text="")

ModelOptions = _options(
    ClassifierSettings, "ModelOptions", MODEL, default_text=" Default: {}.", without=["fully_adjacent"]
)
RegularizerOptions = _options(RegularizerSettings, "RegularizerOptions", REGULARIZER, default_text=" Default: {}.")
SupervisedOptions = _options(
    TrainSettings,
    "SupervisedOptions",
    TRAINING,
    default_text=" Default: {}.",
    without=["tol", "weight_decay"],
    defaults=TRAINING_OF_LABELS,
)

#: Nothing given.
NO_BANDS, NO_ENCODER, NO_OBJECTIVE, NO_TRAIN = BandOptions(), EncoderOptions(), ObjectiveOptions(), TrainOptions()
NO_MODEL, NO_REGULARIZER, NO_SUPERVISED = ModelOptions(), RegularizerOptions(), SupervisedOptions()
NO_GRAPH_ENCODER, NO_INPUT = GraphEncoderOptions(), InputOptions()


def given(*options: Any) -> dict[str, Any]:
    """The settings that were given on the command line."""
    return {name: value for group in options for name, value in vars(group).items() if value is not None}


def assigned(assignments: Sequence[str]) -> dict[str, Any]:
    """Settings given as NAME=VALUE. A value is read as in a TOML file; what TOML cannot read is text."""
    settings: dict[str, Any] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError(f"--set: given {text!r}, expected NAME=VALUE, as in --set temperature=0.5")
        try:
            parsed = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            parsed = value.strip()
        settings[name.strip().replace("-", "_")] = parsed
    return settings
