"""What was chosen for a graph, or a set of graphs, and why, in numbers and in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from girl.graph.bands import BANDS, LEARNED, UNLEARNED
from girl.graph.hidden import MIN_GROUPS, TARGET_TEXT
from girl.graph.set_bands import SET_BANDS, SET_TARGET_TEXT

#: Bands by what they are made from; the kind with the largest scales describes the graph. The learned band is smoothed,
#: but is counted where it belongs: with a node's own features if these have larger scales than smoothed ones.
SMOOTHED = ("near", "mid", "far", "mean", "distribution")
OWN = ("own", "size", "contrast")
PLACE = ("positions", "roles")
#: What it says about a set of graphs that a band has the largest scale, by its name without the number of steps.
SET_HEADLINES = {
    "size": "graphs of a size resemble each other, so numbers of nodes and edges count most",
    "bag": "graphs differ in what they are made of, so sums of node features count most",
    "roles": "graphs differ in shape, so degrees and returning walks count most",
    "hop": "graphs differ in what surrounds their nodes, so distributions of features count most",
    "colors": "graphs differ in exact substructures, so counts of surroundings count most",
}


@dataclass(frozen=True)
class Choice:
    """What the judge chose for a graph, and why."""

    scales: dict[str, float]
    """The scale of each band that the graph has; 0: it is left out. The largest is 1."""
    explained: dict[str, float]
    """The share of each hidden part that the bands explain together: see :data:`girl.graph.hidden.TARGETS`."""
    judged: bool
    """Whether the hidden parts could be explained at all. If not, bands have the scales that suit most graphs."""
    groups: int
    """Groups of feature columns; with fewer than 8, columns are not hidden."""
    unit: Literal["node", "graph"] = "node"
    """What a row of the embedding represents: a node of one graph, or a graph of a set."""

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Choice:
        """The inverse of ``dataclasses.asdict``."""
        return cls(**values)

    @property
    def used(self) -> dict[str, float]:
        """The bands with a scale above 0, the largest first."""
        return dict(sorted(((n, s) for n, s in self.scales.items() if s), key=lambda item: -item[1]))

    @property
    def left_out(self) -> list[str]:
        """The bands with scale 0."""
        return [name for name, scale in self.scales.items() if not scale]

    @property
    def headline(self) -> str:
        """What kind of graph it is, and what follows."""
        if not self.explained:
            return "the scales of the bands were given" if self.judged else "there was nothing to judge the bands by"
        if not self.judged:
            if self.unit == "graph":
                return "nothing explains hidden regions, so the bands cannot be judged: all count alike"
            return "nothing explains hidden columns or edges, so the bands have the scales that suit most graphs"
        if self.unit == "graph":
            return SET_HEADLINES[next(iter(self.used)).rstrip("0123456789")]
        smoothed, own, place = (self._weight(names) for names in (SMOOTHED, OWN, PLACE))
        learned = self._weight([LEARNED])
        smoothed, own = (smoothed + learned, own) if smoothed >= own else (smoothed, own + learned)
        if smoothed >= max(own, place):
            return "neighbours resemble each other, so smoothed features count most"
        if own >= place:
            return "neighbours say little about a node, so its own features count most"
        if any(name in self.scales for name in OWN):
            return "a node's place in the graph says more than features, so positions and roles count most"
        return "it has no features, so a node is described by its place in the graph"

    def _weight(self, names: Iterable[str]) -> float:
        """How much some bands count in squared distances."""
        return sum(self.scales.get(name, 0.0) ** 2 for name in names)

    def lines(self) -> list[str]:
        """The choice in at most three lines."""
        lines = [f"your {'graph' if self.unit == 'node' else 'graphs'}: {self.headline}"]
        if self.explained:
            shares = [f"{_percent(share)} of {name}" for name, share in self.explained_rows()]
            few = 0 < self.groups < MIN_GROUPS
            note = f" ({self.groups} columns are too few to hide some)" if few else ""
            lines.append(f"explained without labels: {_listed(shares)}{note}")
        bands = ", ".join(f"{name} {scale:.2f}" for name, scale in self.used.items())
        left_out = self.left_out
        if self.judged and LEARNED in left_out:
            left_out[left_out.index(LEARNED)] = f"{LEARNED} (no better than {UNLEARNED})"
        dropped = f"; left out: {', '.join(left_out)}" if left_out else ""
        lines.append(f"bands: {bands}{dropped}")
        return lines

    def explained_rows(self) -> list[tuple[str, float]]:
        """What was hidden from the bands, in words, and the share that they explain; at least 0."""
        words = TARGET_TEXT if self.unit == "node" else SET_TARGET_TEXT
        return [(words[name], max(share, 0.0)) for name, share in self.explained.items()]

    def rows(self) -> list[tuple[str, str, float]]:
        """For each band its name, what it tells of a node or a graph, and its scale; the largest first."""
        words = BANDS if self.unit == "node" else SET_BANDS
        ordered = {**self.used, **dict.fromkeys(self.left_out, 0.0)}
        return [(name, words[name], scale) for name, scale in ordered.items()]


def _percent(share: float) -> str:
    return f"{100 * max(share, 0.0):.0f} %"


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
