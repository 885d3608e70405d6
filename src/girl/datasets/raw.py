"""Raw files as a dataset; if one is damaged, which one and how."""

from __future__ import annotations

import gzip
import json
import pickletools
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from girl.datasets.registry import Entry
from girl.errors import DamagedError

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from girl.datasets.dataset import Masks, NodeDataset

T = TypeVar("T")

#: A file of this name in a raw folder says that the files are a stand-in: a random graph, not the data.
MARKER = "stand-in.json"

#: Protocols whose splits are files: without them the dataset does not offer the protocol.
_FROM_FILES = ("public", "geom-gcn", "official", "ogb")


def is_stand_in(entry: Entry, root: Path) -> bool:
    """Whether the raw files below ``root`` are those of a random graph."""
    return bool(entry.folder) and (root / entry.folder / MARKER).is_file()


def missing(folder: Path, files: tuple[str, ...]) -> list[str]:
    """Those of ``files`` that ``folder`` lacks."""
    return [file for file in files if not (folder / file).is_file()]


def read_raw(entry: Entry, root: Path) -> NodeDataset:
    """The raw files below ``root`` as a dataset; raises :class:`DamagedError`."""
    from girl.datasets import readers
    from girl.datasets.dataset import NodeDataset

    folder = root / entry.folder

    def read() -> tuple[Data, dict[str, Masks], str | None]:
        data, fixed = readers.read(entry, root)
        return data, fixed, _mismatch(entry, data)

    data, fixed, difference = _read(folder, entry.files, read)
    stand_in = is_stand_in(entry, root)
    if difference is not None and not stand_in:
        _check_files(folder, entry.files)
        raise DamagedError(folder, f"the files {difference}: one is damaged, or they are not those of {entry.name}")
    _check_masks(folder, fixed, len(data.y))
    labels = entry.classes, entry.multilabel, entry.inductive
    return NodeDataset(entry.name, data, *labels, fixed, offered_protocols(entry, fixed), stand_in, entry.metric)


def read_raw_splits(entry: Entry, root: Path) -> Masks:
    """The optional splits below ``root``; raises :class:`DamagedError`."""
    from girl.datasets import readers

    folder = root / entry.splits_folder
    masks = _read(folder, entry.splits_files, lambda: readers.read_splits(entry, root))
    _check_masks(folder, {"geom-gcn": masks}, entry.nodes)
    return masks


def offered_protocols(entry: Entry, fixed: dict[str, Masks]) -> tuple[str, ...]:
    """The dataset's protocols, without those whose split files are missing."""
    return tuple(p for p in entry.protocols if p not in _FROM_FILES or p in fixed)


def _read(folder: Path, files: tuple[str, ...], read: Callable[[], T]) -> T:
    """The result of ``read``; if it fails, the damaged file is found."""
    _check_present(folder, files)
    try:
        return read()
    except MemoryError:
        raise
    except Exception as error:  # a damaged file can make its reader fail in any way
        _check_files(folder, files)
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise DamagedError(folder, f"cannot be read ({reason})") from error


def _check_masks(folder: Path, fixed: dict[str, Masks], size: int) -> None:
    if any(len(mask) != size for masks in fixed.values() for mask in masks):
        raise DamagedError(folder, "the splits are of another number of nodes")


def _check_present(folder: Path, files: tuple[str, ...]) -> None:
    """Raise DamagedError for the first file that is missing."""
    for file in missing(folder, files):
        raise DamagedError(folder / file, "is missing")


def _check_files(folder: Path, files: tuple[str, ...]) -> None:
    """Raise DamagedError for the first file whose format shows that it is damaged."""
    _check_present(folder, files)
    for path in (folder / file for file in files):
        if path.stat().st_size == 0:
            raise DamagedError(path, "is empty")
        try:
            _check(path)
        except Exception as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise DamagedError(path, f"is damaged or cut short ({reason})") from error


def _mismatch(entry: Entry, data: Data) -> str | None:
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


def _check_mat(path: Path) -> None:
    import scipy.io  # here: no other file needs it

    with path.open("rb") as file:
        scipy.io.loadmat(file)


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
    ".mat": _check_mat,
    ".json": lambda path: json.loads(path.read_bytes()),
    ".gz": _check_gzip,
    ".txt": _check_text,
    ".edgelist": _check_text,
    ".index": _check_text,
}
