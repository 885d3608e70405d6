"""Parts of error messages: values, names and causes, each short enough for one line."""

from __future__ import annotations

from collections.abc import Collection

#: Names that a message lists; a table may have thousands.
_MOST = 20


def shown(value: object) -> str:
    """A cell's value as Python writes it, cut to 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:56]}...{text[0]}"


def listed(names: Collection[str], most: int = _MOST) -> str:
    """The first names and how many more there are."""
    rest = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(list(names)[:most]) + rest


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or the name of its type."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
