"""Progress for people: a moving bar on a terminal, a line for each step elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

#: Steps shorter than this, in seconds, are not printed.
SHORT = 1.0


def console_of(verbose: bool | Console) -> Console | None:
    """Where to print: standard error for True, nowhere for False, or the console itself."""
    return verbose if isinstance(verbose, Console) else Console(stderr=True) if verbose else None


def print_line(console: Console | None, text: str) -> None:
    """Print a line as it is: brackets in a path are no markup, and it is not wrapped at the end of the screen."""
    if console is not None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def phase(console: Console | None, name: str) -> Iterator[None]:
    """Show a step of unknown length; afterwards its name and duration, if it was long."""
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
    if (seconds := time.monotonic() - started) >= SHORT:
        print_line(console, f"{name}: {seconds:.1f} s")
