"""Settings as plain values, in a form that outlives the settings that are added later."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

#: Marks a setting that was added after results had been kept: a record leaves it out while it has its default, so that
#: what was computed before is still known to be the same.
LATE = {"late": True}


def plain(settings: DataclassInstance) -> dict[str, Any]:
    """A dataclass of settings as values that JSON has; tuples become lists."""
    found: dict[str, Any] = json.loads(json.dumps(asdict(settings)))
    for item in fields(settings):
        if item.metadata.get("late") and getattr(settings, item.name) == item.default:
            del found[item.name]
    return found
