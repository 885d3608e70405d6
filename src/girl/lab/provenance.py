"""Where a result comes from: versions, commit and machine."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import torch

import girl


def provenance() -> dict[str, str | int]:
    """The software and the machine."""
    return {
        "girl": girl.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
    }


def _commit() -> str:
    here = Path(__file__).parent
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=here, capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip()


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
