"""Raw files as a dataset, or what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from girl.datasets.file_checks import damaged, mismatch, missing
from girl.datasets.registry import Entry

if TYPE_CHECKING:
    from girl.datasets.dataset import Masks, NodeDataset

#: A file of this name in a raw folder says that a random graph is in the place of the data.
MARKER = "stand-in.json"

#: Protocols whose splits are files: without them the dataset does not offer these.
_FILED = ("public", "geom-gcn", "ogb")


class DamagedError(Exception):
    """A raw file cannot be used: its name in the dataset's folder, if known, and what is wrong."""

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(f"{file} {problem}".strip())
        self.file, self.problem = file, problem


def is_stand_in(entry: Entry, root: Path) -> bool:
    """Whether the raw files below ``root`` are a random graph's."""
    return bool(entry.part) and (root / entry.part / MARKER).is_file()


def write_marker(folder: Path, scale: float, seed: int) -> None:
    """Say in ``folder`` that what it holds is a random graph."""
    (folder / MARKER).write_text(json.dumps({"stand_in": True, "scale": scale, "seed": seed}) + "\n", encoding="utf-8")


def read_raw(entry: Entry, root: Path) -> NodeDataset:
    """The raw files below ``root`` as a dataset; raises :class:`DamagedError`."""
    from girl.datasets import readers
    from girl.datasets.dataset import NodeDataset

    folder = root / entry.part
    if entry.part and (lacking := missing(folder, entry.files)):
        raise DamagedError(lacking[0], "is missing")
    try:
        data, fixed = readers.read(entry, root)
        classes = data.y.shape[1] if entry.multilabel else int(data.y.max()) + 1
        nodes, features = data.x.shape
    except MemoryError:
        raise
    except Exception as error:  # a damaged file can make its reader fail in any way
        raise _diagnosed(folder, entry.files, error) from error
    stand_in = is_stand_in(entry, root)
    wrong = None if stand_in else mismatch(entry, nodes, data.edge_index.shape[1], features, classes)
    if wrong is not None:
        raise DamagedError(
            *damaged(folder, entry.files)
            or ("", f"the files {wrong}: one is damaged, or they are not those of {entry.name}")
        )
    if any(len(mask) != len(data.y) for masks in fixed.values() for mask in masks):
        raise DamagedError("", "the splits are of another number of nodes")
    return NodeDataset(
        name=entry.name,
        data=data,
        classes=entry.classes,
        multilabel=entry.multilabel,
        inductive=entry.inductive,
        fixed=fixed,
        protocols=offered(entry, fixed),
        stand_in=stand_in,
    )


def read_raw_splits(entry: Entry, root: Path) -> Masks:
    """The splits below ``root`` that the data can do without; raises :class:`DamagedError`."""
    from girl.datasets import readers

    folder = root / entry.splits_part
    if lacking := missing(folder, entry.splits_files):
        raise DamagedError(lacking[0], "is missing")
    try:
        masks = readers.read_splits(entry, root)
    except MemoryError:
        raise
    except Exception as error:
        raise _diagnosed(folder, entry.splits_files, error) from error
    if any(len(mask) != entry.nodes for mask in masks):
        raise DamagedError("", "the splits are of another number of nodes")
    return masks


def offered(entry: Entry, fixed: dict[str, Masks]) -> tuple[str, ...]:
    """The dataset's protocols, without those whose splits are not at hand."""
    return tuple(p for p in entry.protocols if p not in _FILED or p in fixed)


def _diagnosed(folder: Path, files: tuple[str, ...], error: Exception) -> DamagedError:
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    return DamagedError(*damaged(folder, files) or ("", f"cannot be read ({reason})"))
