"""Settings as plain values."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def plain(settings: DataclassInstance) -> dict[str, Any]:
    """All fields of a dataclass as JSON values; tuples become lists."""
    values: dict[str, Any] = json.loads(json.dumps(asdict(settings)))
    return values
