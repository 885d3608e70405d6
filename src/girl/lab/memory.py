"""How much memory a piece of work takes at its peak, as the system counts it."""

from __future__ import annotations

import multiprocessing
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def resident() -> int:
    """Bytes in memory now; where the system does not say, their peak."""
    return _status("VmRSS") or _usage()


def peak() -> int:
    """The most bytes in memory since the start, or since :func:`forget_peak`."""
    return _status("VmHWM") or _usage()


def forget_peak() -> bool:
    """Count the peak from here on, so that a higher one before does not hide it; whether that is possible."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def apart(function: Callable[..., Any], *arguments: Any, fresh: bool = True) -> Any:
    """The function's result from a process of its own, without peaks of others; if not ``fresh``, from this one."""
    if not fresh:
        return function(*arguments)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def _usage() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _status(key: str) -> int:
    file = Path("/proc/self/status")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{key}:")), 0)
