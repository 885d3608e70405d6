"""Raw files as a dataset, or what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from girl.datasets.file_checks import check_files, check_present, mismatch
from girl.datasets.registry import Entry
from girl.errors import DamagedError

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from girl.datasets.dataset import Masks, NodeDataset

T = TypeVar("T")

#: A file of this name in a raw folder says that the files are a stand-in: a random graph, not the data.
MARKER = "stand-in.json"

#: Protocols whose splits are files: without them the dataset does not offer the protocol.
_FROM_FILES = ("public", "geom-gcn", "ogb")


def is_stand_in(entry: Entry, root: Path) -> bool:
    """Whether the raw files below ``root`` are those of a random graph."""
    return bool(entry.folder) and (root / entry.folder / MARKER).is_file()


def read_raw(entry: Entry, root: Path) -> NodeDataset:
    """The raw files below ``root`` as a dataset; raises :class:`DamagedError`."""
    from girl.datasets import readers
    from girl.datasets.dataset import NodeDataset

    folder = root / entry.folder

    def read() -> tuple[Data, dict[str, Masks], str | None]:
        data, fixed = readers.read(entry, root)
        return data, fixed, mismatch(entry, data)

    data, fixed, difference = _read(folder, entry.files, read)
    stand_in = is_stand_in(entry, root)
    if difference is not None and not stand_in:
        check_files(folder, entry.files)
        raise DamagedError(folder, f"the files {difference}: one is damaged, or they are not those of {entry.name}")
    _check_masks(folder, fixed, len(data.y))
    protocols = offered_protocols(entry, fixed)
    labels = entry.classes, entry.multilabel, entry.inductive
    return NodeDataset(entry.name, data, *labels, fixed, protocols, stand_in)


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
    check_present(folder, files)
    try:
        return read()
    except MemoryError:
        raise
    except Exception as error:  # a damaged file can make its reader fail in any way
        check_files(folder, files)
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise DamagedError(folder, f"cannot be read ({reason})") from error


def _check_masks(folder: Path, fixed: dict[str, Masks], size: int) -> None:
    if any(len(mask) != size for masks in fixed.values() for mask in masks):
        raise DamagedError(folder, "the splits are of another number of nodes")
