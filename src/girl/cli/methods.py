"""`girl methods`: the self-supervised methods."""

from __future__ import annotations

from rich.table import Table

from girl.cli.app import console, say


def methods() -> None:
    """List the self-supervised methods: what each learns from, where it was published, and its settings.

    Use one with `girl pretrain cora --method bgrl`. Other packages can add their own.
    """
    from dataclasses import fields

    from girl.methods.registry import methods as known

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("name", "learns from", "source", "settings"):
        table.add_column(heading, no_wrap=heading == "name")
    for entry in known().values():
        settings = (
            "the objective's options" if entry.name == "girl" else " ".join(f.name for f in fields(entry.settings))
        )
        table.add_row(entry.name, entry.summary, entry.source, settings or "none")
    console.print(table)
    say("settings of methods other than girl: --set NAME=VALUE, or in a recipe file")
