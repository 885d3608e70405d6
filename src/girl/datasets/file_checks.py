"""Which of a dataset's raw files is damaged, and how."""

from __future__ import annotations

import gzip
import json
import pickletools
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from girl.datasets.registry import Entry


def missing(folder: Path, files: tuple[str, ...]) -> list[str]:
    """Those of ``files`` that ``folder`` lacks."""
    return [file for file in files if not (folder / file).is_file()]


def damaged(folder: Path, files: tuple[str, ...]) -> tuple[str, str] | None:
    """The first of ``files`` that is not whole, and what is wrong with it; nothing if the formats show no damage."""
    for file in files:
        path = folder / file
        if not path.is_file():
            return file, "is missing"
        if path.stat().st_size == 0:
            return file, "is empty"
        try:
            _check(path)
        except Exception as error:
            return (
                file,
                f"is damaged or cut short ({str(error).splitlines()[0] if str(error) else type(error).__name__})",
            )
    return None


def mismatch(entry: Entry, nodes: int, edges: int, features: int, classes: int) -> str | None:
    """How the counts differ from the published ones: text and pickles can be cut short and still be read."""
    found = {"nodes": nodes, "edges": edges, "features": features}
    for name, count in found.items():
        expected = getattr(entry, name)
        if count != expected and (name != "edges" or entry.edges_certain):
            return f"give {count:,} {name}, expected {expected:,}"
    return f"give {classes} classes, expected {entry.classes}" if classes != entry.classes else None


def _check(path: Path) -> None:
    for suffix, check in _CHECKS.items():
        if path.name.endswith(suffix):
            check(path)
            return
    # The first bytes of a pickle of protocol 2 or above; its steps are listed, not taken.
    with path.open("rb") as file:
        if file.read(1) == b"\x80" or (path.name.startswith("ind.") and not path.name.endswith(".index")):
            file.seek(0)
            for _ in pickletools.genops(file):
                pass


def _check_zip(path: Path) -> None:
    with zipfile.ZipFile(path) as file:
        if (bad := file.testzip()) is not None:
            raise ValueError(f"checksum of {bad}")


def _check_npy(path: Path) -> None:
    np.load(path, mmap_mode="r", allow_pickle=False)


def _check_json(path: Path) -> None:
    with path.open("rb") as file:
        json.load(file)


def _check_gzip(path: Path) -> None:
    with gzip.open(path) as file:
        while file.read(1 << 24):
            pass


def _check_text(path: Path) -> None:
    """The two ways in which text is not the file at all; that lines are missing is told by their counts."""
    with path.open("rb") as file:
        first, second = file.readline(), file.readline()
    if first.lstrip().startswith(b"<"):
        raise ValueError("a web page")
    if not second:
        raise ValueError("one line only")


_CHECKS: dict[str, Callable[[Path], None]] = {
    ".npz": _check_zip,
    ".npy": _check_npy,
    ".json": _check_json,
    ".gz": _check_gzip,
    ".txt": _check_text,
    ".edgelist": _check_text,
    ".index": _check_text,
}
