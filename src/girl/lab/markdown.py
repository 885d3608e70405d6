"""Markdown that the pages of the documentation include."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; every column but the first is aligned to the right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "".join(_line(row) for row in (head, rule, *rows))


def _line(row: Sequence[str]) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in row) + "\n"


def markdown_list(lines: Sequence[str]) -> str:
    """A list."""
    return "".join(f"- {line}\n" for line in lines)


def figure_block(path: Path | None, alt: str, caption: str, command: str) -> str:
    """A figure with its caption; if it was not drawn, the note of :func:`not_computed`."""
    if path is None:
        return not_computed(command)
    return f"```{{figure}} generated/{path.stem}.svg\n:alt: {alt}\n\n{caption}\n```\n"


def not_computed(command: str) -> str:
    """The note that stands in a page where results are missing."""
    return f"*Not computed yet: `{command}` does it.*\n"
