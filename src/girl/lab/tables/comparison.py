"""A comparison of GIRL with other methods: what is compared, and on what."""

from __future__ import annotations

from dataclasses import dataclass

from girl.lab.scores import Scores


@dataclass(frozen=True)
class Arena:
    """A comparison: what is compared, and on what."""

    name: str
    """Of its pieces and figures."""
    command: str
    """What computes it."""
    places: tuple[tuple[str, str], ...]
    """Datasets with their protocols."""
    controls: tuple[str, ...]
    """What is not a method: shown, not ranked."""
    methods: tuple[str, ...]
    """What is ranked; GIRL is among them."""


def shown(scores: Scores, arena: Arena) -> list[tuple[str, str]]:
    """The places where other methods have results beside GIRL's."""
    peers = [name for name in arena.methods if name != "girl"]
    return [(d, p) for d, p in arena.places if any(scores.by_seed(d, p, name) for name in peers)]
