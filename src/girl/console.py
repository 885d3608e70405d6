"""What a long command is doing, for people: a moving bar on a terminal, a line for each phase elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

#: Seconds from which on a phase is worth a line.
LONG = 1.0


@contextmanager
def phase(console: Console | None, name: str) -> Iterator[None]:
    """A phase whose length is not known; what stays on the screen is its name and its time, if that was long."""
    started = time.monotonic()
    if console is None:
        yield
        return
    if console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(pulse_style="bar.pulse"), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            bar.add_task(name, total=None)
            yield
    else:
        yield
    if (spent := time.monotonic() - started) >= LONG:
        console.print(f"{name}: {spent:.1f} s", highlight=False, markup=False)
