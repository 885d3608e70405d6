"""Which methods there are: the project's own, and those that other packages offer by an entry point."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Literal

from girl.errors import InputError
from girl.methods.bgcl import BGCL, BGCLSettings
from girl.methods.bgrl import BGRL, BGRLSettings
from girl.methods.ccassg import CCASSG, CCASSGSettings
from girl.methods.dgi import DGI, DGISettings
from girl.methods.encoder_method import EncoderMethod
from girl.methods.ggd import GGD, GGDSettings
from girl.methods.girl import GIRLMethod, GIRLSettings
from girl.methods.grace import GRACE, GRACESettings
from girl.methods.graphcl import GraphCL, GraphCLSettings
from girl.methods.graphmae import GraphMAE, GraphMAESettings
from girl.methods.infograph import InfoGraph, InfoGraphSettings
from girl.methods.joao import JOAO, JOAOSettings
from girl.methods.joaov2 import JOAOv2, JOAOv2Settings
from girl.methods.selene import SELENE, SELENESettings
from girl.methods.simgrace import SimGRACE, SimGRACESettings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

#: The group of entry points that other packages use.
GROUP = "girl.methods"


@dataclass(frozen=True)
class MethodEntry:
    """A method, with what is to be known about it before it is used."""

    name: str
    summary: str
    """One line: what is learned from."""
    source: str
    """Who published it."""
    settings: type[DataclassInstance]
    """A frozen dataclass with a default for each setting."""
    build: Callable[[int, Any, Any], EncoderMethod]
    """The method from the columns of the features, the encoder's settings and its own."""
    level: Literal["nodes", "graphs", "both"] = "nodes"
    """Whether it was made for a graph's nodes or for sets of graphs."""
    recipe: Callable[[], str] = str
    """The published recipe as TOML: sections of settings, and ``[datasets.NAME]`` for what differs there."""
    needs: dict[str, str] = field(default_factory=dict)
    """Settings of the encoder without which it does not work."""


def _shipped(name: str) -> Callable[[], str]:
    return lambda: resources.files("girl.methods.recipes").joinpath(f"{name}.toml").read_text(encoding="utf-8")


_OWN = (
    MethodEntry(
        "girl",
        "kernel regression of features and their surroundings on the representation",
        "Fishman et al., ICML 2023, and this project",
        GIRLSettings,
        GIRLMethod,
        "both",
    ),
    MethodEntry(
        "dgi",
        "tells a graph's nodes from those of a shuffled one, by the graph's summary",
        "Veličković et al., ICLR 2019",
        DGISettings,
        DGI,
        recipe=_shipped("dgi"),
    ),
    MethodEntry(
        "grace",
        "a node's two views are alike, those of other nodes are not",
        "Zhu et al., ICML workshop 2020",
        GRACESettings,
        GRACE,
        recipe=_shipped("grace"),
    ),
    MethodEntry(
        "bgrl",
        "predicts one view's representation, by a slowly moving copy, from the other view",
        "Thakoor et al., ICLR 2022",
        BGRLSettings,
        BGRL,
        recipe=_shipped("bgrl"),
    ),
    MethodEntry(
        "bgcl",
        "as grace, and learns how much each view lacks",
        "Hasanzadeh et al., 2021",
        BGCLSettings,
        BGCL,
        recipe=_shipped("bgcl"),
        needs={"conv": "gcn", "output": "last"},
    ),
    MethodEntry(
        "graphmae",
        "rebuilds the features of hidden nodes",
        "Hou et al., KDD 2022",
        GraphMAESettings,
        GraphMAE,
        "both",
        recipe=_shipped("graphmae"),
    ),
    MethodEntry(
        "selene",
        "rebuilds features, and tells nodes by their place, in two channels",
        "Zhong et al., 2022",
        SELENESettings,
        SELENE,
        recipe=_shipped("selene"),
    ),
    MethodEntry(
        "cca-ssg",
        "two views agree, and columns are not correlated",
        "Zhang et al., NeurIPS 2021",
        CCASSGSettings,
        CCASSG,
        recipe=_shipped("cca-ssg"),
    ),
    MethodEntry(
        "ggd",
        "tells the group of real nodes from that of shuffled ones",
        "Zheng et al., NeurIPS 2022",
        GGDSettings,
        GGD,
        recipe=_shipped("ggd"),
    ),
    MethodEntry(
        "infograph",
        "tells a graph's nodes from those of other graphs, by the graph's representation",
        "Sun et al., ICLR 2020",
        InfoGraphSettings,
        InfoGraph,
        "graphs",
        recipe=_shipped("infograph"),
    ),
    MethodEntry(
        "graphcl",
        "a graph and its augmented copy are alike, other graphs are not",
        "You et al., NeurIPS 2020",
        GraphCLSettings,
        GraphCL,
        "graphs",
        recipe=_shipped("graphcl"),
    ),
    MethodEntry(
        "joao",
        "as graphcl, and learns which augmentations to use",
        "You et al., ICML 2021",
        JOAOSettings,
        JOAO,
        "graphs",
        recipe=_shipped("joao"),
    ),
    MethodEntry(
        "joaov2",
        "as joao, with a projector for each augmentation",
        "You et al., ICML 2021",
        JOAOv2Settings,
        JOAOv2,
        "graphs",
        recipe=_shipped("joaov2"),
    ),
    MethodEntry(
        "simgrace",
        "as graphcl, with a disturbed encoder in the place of augmentations",
        "Xia et al., WWW 2022",
        SimGRACESettings,
        SimGRACE,
        "graphs",
        recipe=_shipped("simgrace"),
    ),
)


@cache
def methods() -> dict[str, MethodEntry]:
    """All methods by their names."""
    found = {entry.name: entry for entry in _OWN}
    for point in entry_points(group=GROUP):
        entry = point.load()
        if not isinstance(entry, MethodEntry):
            raise InputError(f"{point.value}: given a {type(entry).__name__}, expected a MethodEntry")
        if entry.name in found:
            raise InputError(f"{point.value}: given the name {entry.name!r}, which is taken; expected another")
        found[entry.name] = entry
    return found


def find_method(name: str, where: str = "method") -> MethodEntry:
    """A method by its name."""
    known = methods()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(str(name).lower(), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise InputError(f"{where}: given the method {name!r}, expected one of {', '.join(known)}{hint}")


def method_of(settings: object) -> MethodEntry:
    """The method that settings are for."""
    for entry in methods().values():
        if type(settings) is entry.settings:
            return entry
    raise InputError(f"method: given settings of type {type(settings).__name__}, which no method has")
