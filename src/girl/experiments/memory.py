"""How much memory a piece of work takes at its peak, as the system counts it."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


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


def _usage() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _status(key: str) -> int:
    file = Path("/proc/self/status")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{key}:")), 0)
