"""Writing files so that nothing half-written is ever seen under its final name."""

from __future__ import annotations

import glob
import json
import os
import re
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside ``path`` to write to; it takes the place of ``path`` when the block ends well, and goes if not.

    It ends in ``.part``: what a killed process leaves is never taken for a result, and goes when the same file is
    written again. A writer that goes by the suffix must be told the format.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    sweep(path.parent, glob.escape(path.name))
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.{_owner(os.getpid())}-", suffix=".part", dir=path.parent)
    os.close(handle)
    beside = Path(name)
    try:
        yield beside
        # A fresh temporary file is private; a result is as readable as any file its owner makes.
        mask = os.umask(0)
        os.umask(mask)
        beside.chmod(0o666 & ~mask)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def sweep(folder: Path, name: str = "*") -> None:
    """Remove what processes that are gone have left in a folder, of files of this name (a pattern).

    The names of such files say which process writes them, and on which host: those of others are left alone.
    """
    for left in folder.glob(f".{name}.*.part"):
        found = re.search(r"\.([^.]*-(\d+))-[a-z0-9_]+\.part$", left.name)
        if found and found[1] == _owner(int(found[2])) and not psutil.pid_exists(int(found[2])):
            left.unlink(missing_ok=True)


def _owner(process: int) -> str:
    host = re.sub(r"[^A-Za-z0-9]+", "_", socket.gethostname())
    return f"{host}-{process}"


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path``, whole or not at all."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as readable JSON to ``path``, whole or not at all."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")
