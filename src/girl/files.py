"""Atomic writing of files, and the folder of all caches."""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

_HOST = re.sub(r"[^A-Za-z0-9]+", "_", socket.gethostname())


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path``: it replaces ``path`` if the block succeeds, and is removed if it fails.

    The temporary name ends in ``.part``, so a file left by a killed process is never taken for a result; it is removed
    when the same file is written again. A writer that goes by the suffix must be given the format.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(path.parent, glob.escape(path.name))
    handle, name = tempfile.mkstemp(".part", temporary_prefix(path.name), path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes the file private; a result gets the usual permissions.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_abandoned(folder: Path, name: str = "*") -> None:
    """Remove temporary files and folders for ``name`` (a pattern) if their process, on this host, has ended."""
    for path in folder.glob(f".{name}.{_HOST}-*.part"):
        match = re.search(r"-(\d+)-\w+\.part$", path.name)
        if match and not psutil.pid_exists(int(match[1])):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def temporary_prefix(name: str) -> str:
    """How the names of this process's temporary files for ``name`` begin; they end in ``.part``."""
    return f".{name}.{_HOST}-{os.getpid()}-"


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as indented JSON to ``path`` atomically."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def cache_root(root: Path | str | None = None) -> Path:
    """The folder of all caches: ``root`` if given, else GIRL_DATA, else ``girl`` in the user's cache folder."""
    if folder := root or os.environ.get("GIRL_DATA"):
        return Path(folder).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "girl"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "girl"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "girl"
