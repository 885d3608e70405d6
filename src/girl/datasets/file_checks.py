"""Which of a dataset's raw files is damaged, and how."""

from __future__ import annotations

import gzip
import json
import pickletools
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from girl.datasets.registry import Entry
from girl.errors import DamagedError

if TYPE_CHECKING:
    from torch_geometric.data import Data


def missing(folder: Path, files: tuple[str, ...]) -> list[str]:
    """Those of ``files`` that ``folder`` lacks."""
    return [file for file in files if not (folder / file).is_file()]


def check_present(folder: Path, files: tuple[str, ...]) -> None:
    """Raise DamagedError for the first file that is missing."""
    for file in missing(folder, files):
        raise DamagedError(folder / file, "is missing")


def check_files(folder: Path, files: tuple[str, ...]) -> None:
    """Raise DamagedError for the first file whose format shows that it is damaged."""
    check_present(folder, files)
    for path in (folder / file for file in files):
        if path.stat().st_size == 0:
            raise DamagedError(path, "is empty")
        try:
            _check(path)
        except Exception as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise DamagedError(path, f"is damaged or cut short ({reason})") from error


def mismatch(entry: Entry, data: Data) -> str | None:
    """How the counts differ from the published ones: text and pickles can be cut short and still be readable."""
    (nodes, features), edges = data.x.shape, data.edge_index.shape[1]
    classes = data.y.shape[1] if entry.multilabel else int(data.y.max()) + 1
    counts = {"nodes": nodes, "edges": edges, "features": features, "classes": classes}
    for name, count in counts.items():
        expected = getattr(entry, name)
        if count != expected and (name != "edges" or entry.edges_exact):
            return f"give {count:,} {name}, expected {expected:,}"
    return None


def _check(path: Path) -> None:
    for suffix, check in _CHECKS.items():
        if path.name.endswith(suffix):
            check(path)
            return
    # Pickles of protocol 2 or above start with this byte. Their instructions are listed here, not executed.
    with path.open("rb") as file:
        if file.read(1) == b"\x80" or path.name.startswith("ind."):
            file.seek(0)
            for _ in pickletools.genops(file):
                pass


def _check_zip(path: Path) -> None:
    with zipfile.ZipFile(path) as file:
        if (bad := file.testzip()) is not None:
            raise ValueError(f"checksum of {bad}")


def _check_gzip(path: Path) -> None:
    with gzip.open(path) as file:
        while file.read(1 << 24):
            pass


def _check_text(path: Path) -> None:
    """Finds a web page in the place of the file, or a single line; missing lines show in the counts."""
    with path.open("rb") as file:
        first, second = file.readline(), file.readline()
    if first.lstrip().startswith(b"<"):
        raise ValueError("a web page")
    if not second:
        raise ValueError("one line only")


_CHECKS: dict[str, Callable[[Path], object]] = {
    ".npz": _check_zip,
    ".npy": lambda path: np.load(path, mmap_mode="r", allow_pickle=False),
    ".json": lambda path: json.loads(path.read_bytes()),
    ".gz": _check_gzip,
    ".txt": _check_text,
    ".edgelist": _check_text,
    ".index": _check_text,
}
