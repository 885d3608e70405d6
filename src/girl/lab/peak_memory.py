"""How many bytes a piece of work takes at its peak, as the operating system counts them."""

from __future__ import annotations

import multiprocessing
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil


def resident_bytes() -> int:
    """Bytes of this process in memory now."""
    return int(psutil.Process().memory_info().rss)


def peak_bytes() -> int:
    """The most bytes that this process had in memory since its start, or since :func:`reset_peak`.

    psutil has no peak on Linux. ``resource`` has one, which a process inherits from the one that started it: a small
    process of a large one would seem large. So Linux is asked for ``VmHWM``, other systems for ``ru_maxrss``.
    """
    status = Path("/proc/self/status")
    for line in status.read_text(encoding="utf-8").splitlines() if status.exists() else []:
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def reset_peak() -> bool:
    """Count the peak from now on; False where the system does not allow it (all but Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def in_fresh_process(function: Callable[..., Any], *arguments: Any, fresh: bool = True) -> Any:
    """``function(*arguments)``, computed in a new process, whose peak is its own; in this one if not ``fresh``."""
    if not fresh:
        return function(*arguments)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)
