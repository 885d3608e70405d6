"""Markdown that the pages of the documentation include."""

from __future__ import annotations

from collections.abc import Sequence


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; every column but the first is set to the right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "".join(_line(row) for row in (head, rule, *rows))


def _line(row: Sequence[str]) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in row) + "\n"


def not_yet(command: str) -> str:
    """What stands in a page where nothing was computed."""
    return f"*Not computed yet: `{command}` does it.*\n"


def figure_piece(name: str, alt: str, caption: str) -> str:
    """A figure as a piece that a page of the documentation includes."""
    return f"```{{figure}} generated/{name}.svg\n:alt: {alt}\n\n{caption}\n```\n"
