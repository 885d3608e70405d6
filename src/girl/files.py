"""Writing files so that nothing half-written is ever seen under its final name."""

from __future__ import annotations

import glob
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows: leftovers stay, and are never taken for results
    fcntl = None


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside ``path`` to write to; it takes the place of ``path`` when the block ends well, and goes if not.

    It ends in ``.part``: what a killed process leaves is never taken for a result, and goes when the same file is
    written again. A writer that goes by the suffix must be told the format.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    sweep(path.parent, glob.escape(path.name))
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    beside = Path(name)
    try:
        _lock(handle)
        yield beside
        # A fresh temporary file is private; a result is as readable as any file its owner makes.
        mask = os.umask(0)
        os.umask(mask)
        beside.chmod(0o666 & ~mask)
        beside.replace(path)
    finally:
        os.close(handle)
        beside.unlink(missing_ok=True)


def sweep(folder: Path, name: str = "*") -> None:
    """Remove what killed processes left in a folder of a file of this name (a pattern), or of any that is written here.

    A process holds a lock on what it writes, which ends with it.
    """
    if fcntl is None:
        return
    for left in folder.glob(f".{name}.{'[a-z0-9_]' * 8}.part"):
        with suppress(OSError):  # another process may have removed it, or is writing it
            handle = os.open(left, os.O_RDONLY)
            try:
                _lock(handle)
                left.unlink()
            finally:
                os.close(handle)


def _lock(handle: int) -> None:
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path``, whole or not at all."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as readable JSON to ``path``, whole or not at all."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")
