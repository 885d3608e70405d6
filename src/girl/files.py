"""Writing files so that nothing half-written is ever seen under its final name."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside ``path`` to write to; it takes the place of ``path`` when the block ends well, and goes if not.

    It ends in ``.part``: what a killed process leaves is never taken for a result. A writer that goes by the suffix
    must be told the format.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
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


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path``, whole or not at all."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as readable JSON to ``path``, whole or not at all."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")
