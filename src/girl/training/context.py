"""Where a run takes place: device, processes, console, folder, and whether it may resume."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import torch
from rich.console import Console

from girl.console import phase
from girl.errors import InputError
from girl.training.distributed import SINGLE_PROCESS, Distributed, connect

Resume = Literal["auto", "never"]


@dataclass(frozen=True)
class Context:
    """Where a run takes place. The default is this process, on the CPU, silent, with nothing written to disk."""

    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    distributed: Distributed = SINGLE_PROCESS
    console: Console | None = None
    """Where progress is printed; None prints nothing. Only the main process has one."""
    folder: Path | None = None
    """The run's folder: checkpoints, model, configuration and history. None writes nothing."""
    resume: Resume = "auto"
    """``"auto"`` continues an interrupted run of the same kind; ``"never"`` starts again."""

    @property
    def checkpoints(self) -> Path | None:
        """The folder of checkpoints."""
        return None if self.folder is None else self.folder / "checkpoints"

    @property
    def writes(self) -> bool:
        """Whether this process writes the run's files."""
        return self.folder is not None and self.distributed.is_main

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Print the name and duration of a step that takes long."""
        return phase(self.console, name)


@contextmanager
def open_context(
    device: str = "auto",
    *,
    console: Console | None = None,
    folder: Path | str | None = None,
    resume: Resume = "auto",
) -> Iterator[Context]:
    """A context on the named device, connected to the other processes if torchrun started several."""
    chosen = select_device(device)
    if resume not in ("auto", "never"):
        raise InputError(f"resume: given {resume!r}, expected 'auto' or 'never'")
    with connect(chosen) as processes:
        printed = console if processes.is_main else None
        yield Context(chosen, processes, printed, None if folder is None else Path(folder), resume)


def select_device(name: str = "auto") -> torch.device:
    """A device by name; ``auto`` is CUDA if there is a GPU, else the CPU."""
    if name != "auto":
        try:
            return torch.zeros(0, device=name).device
        except (RuntimeError, AssertionError) as error:
            raise InputError(f"device: given {name!r}, which this machine does not offer ({error})") from error
    # MPS is not chosen: it lacks CSR products, and falling back to the CPU for each of them is slower than the CPU.
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
