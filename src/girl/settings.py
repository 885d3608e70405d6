"""What all settings share: checks that raise an InputError, and their form as plain values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from girl.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@contextmanager
def checking() -> Iterator[None]:
    """Within this block, a check's ValueError becomes an InputError, which the command line shows as one line."""
    try:
        yield
    except ValueError as error:
        raise error if isinstance(error, InputError) else InputError(str(error)) from error


def plain(settings: DataclassInstance) -> dict[str, Any]:
    """All fields of a dataclass as JSON values; tuples become lists."""
    values: dict[str, Any] = json.loads(json.dumps(asdict(settings)))
    return values
