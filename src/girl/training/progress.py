"""Training progress: a bar on a terminal, else a line every ten seconds."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

#: Seconds between lines without a terminal.
PAUSE = 10.0


class TrainingProgress:
    """Shows epochs, each layer's ρ̂, speed and time left.

    Args:
        epochs: the number of epochs.
        done: epochs that are done already (in a resumed run).
        console: where to print; None prints nothing.
    """

    def __init__(self, epochs: int, done: int, console: Console | None) -> None:
        self._epochs, self._first, self._console = epochs, done, console
        self._started = self._printed = time.monotonic()
        self._bar: Progress | None = None
        if console is not None and console.is_terminal:
            columns = (
                TextColumn("epoch"),
                MofNCompleteColumn(),
                BarColumn(),
                TextColumn("{task.fields[text]}"),
                TimeRemainingColumn(),
            )
            self._bar = Progress(*columns, console=console, transient=False)
            self._task = self._bar.add_task("train", total=epochs, completed=done, text="")

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(
        self, epoch: int, losses: dict[str, float], nodes: int, score: float | None = None, last: bool = False
    ) -> None:
        """Show the state after ``epoch`` epochs of ``nodes`` nodes each; ``last`` marks the final one."""
        if self._console is None:
            return
        now = time.monotonic()
        speed = (epoch - self._first) / max(now - self._started, 1e-9)
        terms = "  ".join(
            f"{'ρ̂ ' if name.startswith('layer') else ''}{name} {value:.3f}" for name, value in losses.items()
        )
        if score is not None:
            terms += f"  validation {100 * score:.1f}"
        text = f"{terms}  {speed * nodes:,.0f} nodes/s"
        if self._bar is not None:
            self._bar.update(self._task, completed=epoch, text=text)
        elif last or epoch == self._first + 1 or now - self._printed >= PAUSE:
            self._printed = now
            left = 0 if last else (self._epochs - epoch) / max(speed, 1e-9)
            self._console.print(
                f"epoch {epoch}/{self._epochs}  {text}  {left:.0f} s left", highlight=False, soft_wrap=True
            )
