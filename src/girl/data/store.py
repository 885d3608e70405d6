"""From a name to a graph: the cache, else a mirror of raw files, else the network.

Below the cache root are the raw files, laid out as in a mirror, and ``graphs/NAME.safetensors``, what was read from
them. Raw files arrive in a scratch folder beside, are read there, and take their place by a rename once they have
been found whole: neither an interruption nor a damaged file leaves anything in the cache.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from girl.data.damage import damaged, mismatch, missing
from girl.data.registry import DATASETS, Entry
from girl.errors import InputError

if TYPE_CHECKING:
    from girl.data.dataset import NodeDataset

#: A file of this name in a raw folder says that a random graph is in the place of the data.
MARKER = "stand-in.json"


class _DamagedError(Exception):
    """A raw file cannot be used: its name in the dataset's folder, if known, and what is wrong."""

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(f"{file} {problem}")
        self.file, self.problem = file, problem


def cache_root(root: Path | str | None = None) -> Path:
    """The folder given, else GIRL_DATA, else ``girl`` in the user's cache folder."""
    if chosen := root or os.environ.get("GIRL_DATA"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "girl"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "girl"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "girl"


def mirror_root(mirror: Path | str | None = None) -> Path | None:
    """The folder given, else GIRL_MIRROR, else none."""
    chosen = mirror or os.environ.get("GIRL_MIRROR")
    if not chosen:
        return None
    path = Path(chosen).expanduser()
    if not path.is_dir():
        raise InputError(f"{path}: no such folder; --mirror and GIRL_MIRROR name one that holds raw files")
    return path


def graph_file(entry: Entry, root: Path) -> Path:
    """Where the processed graph is kept."""
    return root / "graphs" / f"{entry.name}.safetensors"


def load(entry: Entry, root: Path, mirror: Path | None) -> NodeDataset:
    """The dataset, from wherever it is nearest."""
    if not entry.part:
        return _read(entry, root)
    if (found := _cached(entry, root, mirror)) is not None:
        return found
    return _make(entry, root, mirror)


def fetch(entry: Entry, root: Path, mirror: Path | None, again: bool = False) -> NodeDataset:
    """Bring the dataset into the cache; ``again`` throws away what is there and fetches it anew."""
    if again and entry.part:
        with _writing(root):
            discard(entry, root)
    return load(entry, root, mirror)


def discard(entry: Entry, root: Path) -> None:
    """Remove the raw files, what was read from them, and what interrupted runs left."""
    for other in DATASETS.values():
        if other.part == entry.part:  # two datasets may be read from the same files
            graph_file(other, root).unlink(missing_ok=True)
    for part in filter(None, (entry.part, entry.splits_part)):
        shutil.rmtree(root / part, ignore_errors=True)
    for scratch in root.glob(f"{_scratch_prefix(entry)}*"):
        shutil.rmtree(scratch, ignore_errors=True)


def is_stand_in(entry: Entry, root: Path) -> bool:
    """Whether the raw files below ``root`` are a random graph's."""
    return bool(entry.part) and (root / entry.part / MARKER).is_file()


def at_hand(entry: Entry, root: Path, mirror: Path | None) -> str:
    """Where :func:`load` would find the dataset: built in, cached, stand-in, mirror or download."""
    if not entry.part:
        return "built in"
    if _complete(root, entry.part, entry.files):
        return "stand-in" if is_stand_in(entry, root) else "cached"
    if graph_file(entry, root).is_file():
        from girl.data.graphfile import UnusableError, read_about

        with suppress(UnusableError):
            return "stand-in" if read_about(graph_file(entry, root))["stand_in"] else "cached"
    if mirror is not None and _complete(mirror, entry.part, entry.files):
        return "stand-in (mirror)" if is_stand_in(entry, mirror) else "mirror"
    return "download"


def place(entry: Entry, scratch: Path, root: Path) -> None:
    """Move the raw files of ``entry`` from ``scratch`` to their place below ``root``; each folder in one step."""
    for part in filter(None, (entry.part, entry.splits_part)):
        if (scratch / part).is_dir() and not _occupied(root / part):
            (root / part).parent.mkdir(parents=True, exist_ok=True)
            try:
                (scratch / part).rename(root / part)
            except OSError:  # another process has placed its copy in the meantime: as good as ours
                if not _occupied(root / part):
                    raise


@contextmanager
def scratch_folder(entry: Entry, root: Path) -> Iterator[Path]:
    """A folder on the same disk as the cache that is gone at the end."""
    with _writing(root):
        root.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=_scratch_prefix(entry), dir=root))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _scratch_prefix(entry: Entry) -> str:
    return f".{entry.part.replace('/', '-')}."


@contextmanager
def _writing(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{root}: cannot be written ({error.strerror or error}); choose another folder by --data-root or GIRL_DATA"
        ) from error


def _complete(root: Path, part: str, files: tuple[str, ...]) -> bool:
    return bool(part) and not missing(root / part, files)


def _occupied(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _cached(entry: Entry, root: Path, mirror: Path | None) -> NodeDataset | None:
    path = graph_file(entry, root)
    if not path.is_file():
        return None
    from girl.data.graphfile import UnusableError, read_graph

    try:
        found = read_graph(path)
    except UnusableError as error:
        warnings.warn(f"{error}; it is made anew from the raw files", stacklevel=5)
        return None
    # Splits that could not be had before may be now.
    places = [place for place in (root, mirror) if place is not None]
    if set(entry.protocols) - set(found.protocols) and any(
        _complete(place, entry.splits_part, entry.splits_files) for place in places
    ):
        return None
    return found


def _make(entry: Entry, root: Path, mirror: Path | None) -> NodeDataset:
    """Read the raw files, after bringing them if need be, and keep what was read."""
    if _occupied(root / entry.part):
        try:
            with scratch_folder(entry, root) as scratch:
                _bring_splits(entry, root, scratch, mirror, downloading=False)
                place(entry, scratch, root)
            found = _read(entry, root)
        except _DamagedError as error:
            raise InputError(
                f"{root / entry.part / error.file}: {error.problem}; `girl datasets fetch {entry.name} --again` "
                "throws the cached copy away and fetches it anew"
            ) from error
    else:
        found = _bring(entry, root, mirror)
    from girl.data.graphfile import write_graph

    with _writing(root):
        write_graph(graph_file(entry, root), found)
    return found


def _bring(entry: Entry, root: Path, mirror: Path | None) -> NodeDataset:
    """Raw files into the cache from the mirror or the network, once they have been read without fault."""
    from girl.data.download import download

    with scratch_folder(entry, root) as scratch:
        mirrored = mirror if mirror is not None and _occupied(mirror / entry.part) else None
        if mirrored is not None:
            with _writing(root):
                _copy(mirrored, scratch, entry.part)
        else:
            download(entry, scratch)
        _bring_splits(entry, root, scratch, mirror, downloading=mirrored is None)
        try:
            found = _read(entry, scratch)
        except _DamagedError as error:
            if mirrored is not None:
                where, remedy = mirrored / entry.part / error.file, "mend the mirror, or do without it"
            else:
                where, remedy = Path(entry.part, error.file), "as downloaded"
            raise InputError(
                f"{where}: {error.problem}; {remedy}, then `girl datasets fetch {entry.name} --again`"
            ) from error
        with _writing(root):
            place(entry, scratch, root)
    return found


def _bring_splits(entry: Entry, root: Path, scratch: Path, mirror: Path | None, downloading: bool) -> None:
    """The splits that the data can do without, if they are to be had."""
    if not entry.splits_part or _complete(root, entry.splits_part, entry.splits_files):
        return
    if mirror is not None and _complete(mirror, entry.splits_part, entry.splits_files):
        with _writing(root):
            _copy(mirror, scratch, entry.splits_part)
    elif downloading:
        from girl.data.download import download_splits

        try:
            download_splits(entry, scratch)
        except OSError as error:
            shutil.rmtree(scratch / entry.splits_part, ignore_errors=True)
            warnings.warn(
                f"{entry.name}: without its geom-gcn splits, which could not be reached: {error}", stacklevel=7
            )


def _copy(mirror: Path, scratch: Path, part: str) -> None:
    """Files only: the permissions of a mirror, which may be read-only, would keep the copy from being moved."""
    for path in (mirror / part).rglob("*"):
        inside = path.relative_to(mirror / part)
        if path.is_file() and "processed" not in inside.parts:
            (scratch / part / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, scratch / part / inside)


def _read(entry: Entry, root: Path) -> NodeDataset:
    """The raw files below ``root`` as a dataset; raises :class:`_DamagedError`."""
    from girl.data import readers
    from girl.data.dataset import NodeDataset

    folder = root / entry.part
    if entry.part and (lacking := missing(folder, entry.files)):
        raise _DamagedError(lacking[0], "is missing")
    try:
        data, fixed = readers.read(entry, root)
        if _complete(root, entry.splits_part, entry.splits_files):
            fixed["geom-gcn"] = readers.read_splits(entry, root)
    except MemoryError:
        raise
    except Exception as error:  # a damaged file can make its reader fail in any way
        file, problem = _diagnose(entry, root) or ("", f"cannot be read ({type(error).__name__}: {error})")
        raise _DamagedError(file, problem) from error
    classes = data.y.shape[1] if entry.multilabel else int(data.y.max()) + 1
    stand_in = is_stand_in(entry, root)
    wrong = None if stand_in else mismatch(entry, data.x.shape[0], data.edge_index.shape[1], data.x.shape[1], classes)
    if wrong is not None:
        raise _DamagedError("", f"the files {wrong}: one is damaged, or they are not those of {entry.name}")
    if any(len(mask) != len(data.y) for masks in fixed.values() for mask in masks):
        raise _DamagedError("", "the splits are of another number of nodes")
    kept = ("public", "geom-gcn", "ogb")
    return NodeDataset(
        name=entry.name,
        data=data,
        classes=entry.classes,
        multilabel=entry.multilabel,
        inductive=entry.inductive,
        fixed=fixed,
        protocols=tuple(p for p in entry.protocols if p not in kept or p in fixed),
        stand_in=stand_in,
    )


def _diagnose(entry: Entry, root: Path) -> tuple[str, str] | None:
    if (found := damaged(root / entry.part, entry.files)) is not None:
        return found
    if entry.splits_part and _occupied(root / entry.splits_part):
        found = damaged(root / entry.splits_part, entry.splits_files)
        if found is not None:
            return str(Path(os.path.relpath(entry.splits_part, entry.part)) / found[0]), found[1]
    return None


def write_marker(folder: Path, scale: float, seed: int) -> None:
    """Say in ``folder`` that what it holds is a random graph."""
    (folder / MARKER).write_text(json.dumps({"stand_in": True, "scale": scale, "seed": seed}) + "\n", encoding="utf-8")
