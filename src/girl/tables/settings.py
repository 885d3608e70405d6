"""How a user's files are read as a graph. The field descriptions are also the help of ``girl embed``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from girl.errors import InputError


@dataclass(frozen=True)
class InputSettings:
    """How files are read as a graph."""

    source: str | None = None
    """Column with the source of each edge; guessed from usual names if not given."""
    target: str | None = None
    """Column with the target of each edge; guessed from usual names if not given."""
    weight: str | None = None
    """Column of edge weights, all positive; the column named weight, if there is one, if not given."""
    time: str | None = None
    """Column with the time of each edge, as numbers or dates."""
    since: str | None = None
    """Leave out edges before this time."""
    until: str | None = None
    """Leave out edges at or after this time."""
    directed: bool = False
    """Use edges from source to target only, not both ways."""
    id: str | None = None
    """Column of the node table with the ids; guessed from usual names and from the ids in the edges if not given."""
    graph: str | None = None
    """Column of the edges, the node table or both with the graph that each row belongs to, for a set of graphs."""
    label: str | None = None
    """Column of the node table (or of the table of graphs) with labels for the report; never used for training."""
    columns: tuple[str, ...] = ()
    """Columns of the node table to use as features; all that can be used if not given."""
    ignore: tuple[str, ...] = ()
    """Columns to leave out."""
    text: tuple[str, ...] = ()
    """Columns of the node table whose words become features."""
    strict: bool = False
    """Stop if an edge has a node that is missing from the node table, or a graph from the table of graphs."""

    @classmethod
    def of(cls, values: InputSettings | Mapping[str, Any] | None) -> InputSettings:
        """The settings in a mapping such as ``{"label": "team"}``; the defaults if None."""
        if isinstance(values, InputSettings):
            return values
        several = {field.name: field.default == () for field in fields(cls)}
        settings = dict(values or {})
        for name, value in settings.items():
            if name not in several:
                raise InputError(f"settings: given {name!r}, expected names among {', '.join(several)}")
            if several[name]:
                settings[name] = (value,) if isinstance(value, str) else tuple(value)
        return cls(**settings)
