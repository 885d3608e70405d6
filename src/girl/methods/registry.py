"""All methods by name: those of this package, of other packages (by entry point) and of the running program."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Literal

from girl.errors import InputError
from girl.methods.bands import BandMethod, BandSettings
from girl.methods.base import Method
from girl.methods.bgcl import BGCL, BGCLSettings
from girl.methods.bgrl import BGRL, BGRLSettings
from girl.methods.ccassg import CCASSG, CCASSGSettings
from girl.methods.dgi import DGI, DGISettings
from girl.methods.encoder_method import EncoderMethod
from girl.methods.ggd import GGD, GGDSettings
from girl.methods.girl import GIRLMethod, GIRLSettings
from girl.methods.grace import GRACE, GRACESettings
from girl.methods.graph_bands import GraphBandMethod, GraphBandSettings
from girl.methods.graphcl import GraphCL, GraphCLSettings
from girl.methods.graphmae import GraphMAE, GraphMAESettings
from girl.methods.infograph import InfoGraph, InfoGraphSettings
from girl.methods.joao import JOAO, JOAOSettings
from girl.methods.joaov2 import JOAOv2, JOAOv2Settings
from girl.methods.selene import SELENE, SELENESettings
from girl.methods.simgrace import SimGRACE, SimGRACESettings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

#: The group of entry points by which other packages offer methods.
GROUP = "girl.methods"

Level = Literal["nodes", "graphs", "both"]


@dataclass(frozen=True)
class MethodEntry:
    """A method and its description, as the registry lists it."""

    name: str
    settings: type[DataclassInstance]
    """A frozen dataclass with a default for each setting."""
    build: Callable[[int, Any, Any], Method]
    """Makes the method from the number of feature columns, the encoder's settings and its own: the class itself."""
    summary: str = ""
    """One line: what the method learns from."""
    source: str = ""
    """Its publication."""
    level: Level = "nodes"
    """Whether it embeds the nodes of one graph, the graphs of a set, or either."""
    recipe: Callable[[], str] = str
    """Returns the published recipe as TOML: sections of settings, and ``[datasets.NAME.SECTION]`` for one dataset."""
    required_encoder: dict[str, str] = field(default_factory=dict)
    """Encoder settings without which the method does not work."""


def _entry(
    name: str, settings: type[DataclassInstance], build: type[EncoderMethod], summary: str, source: str, **extra: Any
) -> MethodEntry:
    """The entry of a method whose recipe is ``recipes/NAME.toml`` of this package."""

    def recipe() -> str:
        return resources.files("girl.methods.recipes").joinpath(f"{name}.toml").read_text(encoding="utf-8")

    return MethodEntry(name, settings, build, summary, source, recipe=recipe, **extra)


# fmt: off
_BUILT_IN = (
    MethodEntry("bands", BandSettings, BandMethod, "weighs views of the graph by how they explain hidden parts of it",
                "this project; the default"),
    MethodEntry("graph-bands", GraphBandSettings, GraphBandMethod,
                "weighs views of whole graphs by how those of one half explain the other",
                "this project; the default for sets of graphs", "graphs"),
    MethodEntry("girl", GIRLSettings, GIRLMethod, "regresses features of a node and its neighbourhood on the embedding",
                "Fishman et al., ICML 2023, and this project", "both"),
    _entry("dgi", DGISettings, DGI, "distinguishes nodes from those of a shuffled graph, by the graph's summary",
           "Veličković et al., ICLR 2019"),
    _entry("grace", GRACESettings, GRACE, "pulls two views of a node together, pushes different nodes apart",
           "Zhu et al., ICML workshop 2020"),
    _entry("bgrl", BGRLSettings, BGRL, "predicts one view of a node, by a slowly moving encoder, from the other",
           "Thakoor et al., ICLR 2022"),
    _entry("bgcl", BGCLSettings, BGCL, "as grace, and learns how much to drop from each view",
           "Hasanzadeh et al., 2021", required_encoder={"conv": "gcn", "output": "last"}),
    _entry("graphmae", GraphMAESettings, GraphMAE, "reconstructs the features of masked nodes",
           "Hou et al., KDD 2022", level="both"),
    _entry("selene", SELENESettings, SELENE, "reconstructs features and encodes structure, in two channels",
           "Zhong et al., 2022"),
    _entry("cca-ssg", CCASSGSettings, CCASSG, "makes two views agree and decorrelates the columns",
           "Zhang et al., NeurIPS 2021"),
    _entry("ggd", GGDSettings, GGD, "distinguishes real nodes from shuffled ones", "Zheng et al., NeurIPS 2022"),
    _entry("infograph", InfoGraphSettings, InfoGraph, "distinguishes a graph's nodes from those of other graphs",
           "Sun et al., ICLR 2020", level="graphs"),
    _entry("graphcl", GraphCLSettings, GraphCL, "pulls a graph and its augmented copy together, pushes graphs apart",
           "You et al., NeurIPS 2020", level="graphs"),
    _entry("joao", JOAOSettings, JOAO, "as graphcl, and learns which augmentations to use",
           "You et al., ICML 2021", level="graphs"),
    _entry("joaov2", JOAOv2Settings, JOAOv2, "as joao, with a projector for each augmentation",
           "You et al., ICML 2021", level="graphs"),
    _entry("simgrace", SimGRACESettings, SimGRACE, "as graphcl, with a perturbed encoder in place of augmentations",
           "Xia et al., WWW 2022", level="graphs"),
)
# fmt: on


@cache
def methods() -> dict[str, MethodEntry]:
    """All methods by name, in the order of the tables."""
    entries = {entry.name: entry for entry in _BUILT_IN}
    for point in entry_points(group=GROUP):
        _add(entries, point.load(), point.value)
    return entries


def register(entry: MethodEntry) -> MethodEntry:
    """Add a method for the running program; a package offers one by an entry point of the group ``girl.methods``."""
    _add(methods(), entry, "register")
    return entry


def _add(entries: dict[str, MethodEntry], entry: object, where: str) -> None:
    if not isinstance(entry, MethodEntry):
        raise InputError(f"{where}: given a {type(entry).__name__}, expected a MethodEntry")
    if entry.name in entries:
        raise InputError(f"{where}: given the name {entry.name!r}, which is taken; expected another")
    entries[entry.name] = entry


def names() -> list[str]:
    """The names of all methods."""
    return list(methods())


def find_method(name: str, where: str = "method") -> MethodEntry:
    """A method by its name; ``where`` begins the message if there is none."""
    entries = methods()
    if name in entries:
        return entries[name]
    near = difflib.get_close_matches(str(name).lower(), entries, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise InputError(f"{where}: given the method {name!r}, expected one of {', '.join(entries)}{hint}")


def method_of(settings: object) -> MethodEntry:
    """The method that settings belong to, by their type."""
    for entry in methods().values():
        if type(settings) is entry.settings:
            return entry
    raise InputError(f"method: given settings of type {type(settings).__name__}, expected those of a registered method")
