"""A dataset comes from the cache, else from a mirror of raw files, else from the network.

The cache holds raw files, laid out as in a mirror, and ``graphs/NAME.safetensors``, the graph that was read from them.
New raw files are brought to a scratch folder, read there, and renamed into place only if they could be read: neither an
interruption nor a damaged file leaves anything in the cache, or removes anything from it.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from girl.datasets.raw import is_stand_in, missing, offered_protocols, read_raw, read_raw_splits
from girl.datasets.registry import DATASETS, Entry
from girl.errors import DamagedError, InputError
from girl.files import remove_abandoned, temporary_prefix

if TYPE_CHECKING:
    from girl.datasets.dataset import Masks, NodeDataset


def mirror_root(mirror: Path | str | None = None) -> Path | None:
    """The mirror: ``mirror`` if given, else GIRL_MIRROR, else none."""
    if not (folder := mirror or os.environ.get("GIRL_MIRROR")):
        return None
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise InputError(f"{path}: no such folder; --mirror and GIRL_MIRROR name one that holds raw files")
    return path


def graph_path(entry: Entry, root: Path) -> Path:
    """The file of the processed graph."""
    return root / "graphs" / f"{entry.name}.safetensors"


def load(entry: Entry, root: Path, mirror: Path | None) -> NodeDataset:
    """The dataset, from the cache if it is there."""
    if not entry.folder:
        return read_raw(entry, root)
    _check_apart(root, mirror)
    dataset = _load_cached(entry, root)
    if dataset is not None:
        # Splits that were missing before may be there now.
        lacking = set(entry.protocols) - set(dataset.protocols)
        folders = [folder for folder in (root, mirror) if folder is not None]
        if not lacking or not any(_has_splits(entry, folder) for folder in folders):
            return dataset
    return _build(entry, root, mirror, dataset)


def fetch(entry: Entry, root: Path, mirror: Path | None, again: bool = False) -> NodeDataset:
    """Bring the dataset into the cache; ``again`` replaces what is there once the new files have been read."""
    if not (again and entry.folder):
        return load(entry, root, mirror)
    _check_apart(root / entry.folder, None if mirror is None else mirror / entry.folder)
    return _build(entry, root, mirror, again=True)


def availability(entry: Entry, root: Path, mirror: Path | None) -> str:
    """Where :func:`load` would find the dataset: built in, cached, stand-in, mirror, download or incomplete.

    Raw files in the cache or the mirror are incomplete if one is missing; :func:`load` would say which.
    """
    if not entry.folder:
        return "built in"
    if _has_raw(entry, root):
        return "stand-in" if is_stand_in(entry, root) else "cached"
    if (path := graph_path(entry, root)).is_file():
        from girl import store
        from girl.datasets.graph_file import check

        with suppress(DamagedError):
            check(path, entry.name, value := store.load_value(path))
            return "stand-in" if value["stand_in"] else "cached"
    if _has_files(root / entry.folder):
        return "incomplete"
    if mirror is None or not _has_files(mirror / entry.folder):
        return "download"
    if not _has_raw(entry, mirror):
        return "incomplete"
    return "stand-in (mirror)" if is_stand_in(entry, mirror) else "mirror"


@contextmanager
def scratch_folder(entry: Entry, root: Path) -> Iterator[Path]:
    """A temporary folder on the same disk as the cache."""
    with _writing(root):
        root.mkdir(parents=True, exist_ok=True)
        remove_abandoned(root)
        scratch = Path(tempfile.mkdtemp(".part", temporary_prefix(entry.folder.replace("/", "-")), root))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def install(entry: Entry, scratch: Path, root: Path, replace: bool = False) -> None:
    """Move the raw files of ``entry`` from ``scratch`` to below ``root``, each folder by a rename.

    A complete folder that is there already stays, unless ``replace``: another process may be reading it.
    """
    for part in filter(None, (entry.folder, entry.splits_folder)):
        new, target, old = scratch / part, root / part, scratch / ".old" / part
        if not new.is_dir():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if not replace:
            with suppress(OSError):  # raised if the target has files
                new.rename(target)
                continue
            if _readable(entry, root, part):
                continue
        old.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            target.rename(old)
        try:
            new.rename(target)
        except OSError:
            if _readable(entry, root, part):  # another process has just installed its copy
                continue
            with suppress(OSError):
                old.rename(target)
            raise


def _build(
    entry: Entry, root: Path, mirror: Path | None, cached: NodeDataset | None = None, again: bool = False
) -> NodeDataset:
    """Read the raw files of the cache, the mirror or the network, add the splits of ``entry``, and cache the graph.

    With a ``cached`` graph only its splits are added; ``again`` ignores the raw files of the cache.
    """
    remedy = f"`girl datasets fetch {entry.name} --again`"
    downloading = False
    with scratch_folder(entry, root) as scratch:
        if cached is not None:
            dataset = cached
        elif not again and _has_files(root / entry.folder):
            dataset = _read(entry, root, root, f"{remedy} replaces the cached copy")
        elif mirror is not None and _has_files(mirror / entry.folder):
            _copy(mirror, entry.folder, scratch, root)
            dataset = _read(entry, scratch, mirror, f"repair the mirror, or do without it, then {remedy}")
        else:
            from girl.datasets.download import download

            downloading = True
            download(entry, scratch)
            dataset = _read(entry, scratch, Path(), f"it arrived damaged: {remedy} downloads it again")
        splits = _find_splits(entry, root, mirror, scratch, downloading, again)
        if splits is None and cached is not None:
            return cached
        with _writing(root):
            if again:
                for other in DATASETS.values():
                    if other.folder == entry.folder:  # two datasets may be read from the same files
                        graph_path(other, root).unlink(missing_ok=True)
            install(entry, scratch, root, replace=again)
    if splits is not None:
        fixed = dataset.fixed | {"geom-gcn": splits}
        dataset = dataclasses.replace(dataset, fixed=fixed, protocols=offered_protocols(entry, fixed))
    from girl.datasets.graph_file import save_graph

    with _writing(root):
        save_graph(graph_path(entry, root), dataset)
    return dataset


def _read(entry: Entry, folder: Path, origin: Path, remedy: str) -> NodeDataset:
    """The raw files below ``folder``, which came from ``origin``; a damaged file is named where the user finds it."""
    try:
        return read_raw(entry, folder)
    except DamagedError as error:
        raise DamagedError(origin / error.path.relative_to(folder), error.problem, remedy) from error


def _find_splits(
    entry: Entry, root: Path, mirror: Path | None, scratch: Path, downloading: bool, again: bool
) -> Masks | None:
    """The optional splits, from the first source that has them undamaged; new files go to ``scratch``.

    The cache is the first source, or the last if it is to be filled ``again``.
    """
    from girl.datasets.download import download_splits

    problems = []
    for source in (mirror, scratch, root) if again else (root, mirror, scratch):  # scratch: by download
        download = source is scratch and downloading and bool(entry.splits_folder)
        if source is None or not (download or _has_splits(entry, source)):
            continue
        try:
            if download:
                download_splits(entry, scratch)
            splits = read_raw_splits(entry, source)
        except (DamagedError, OSError) as error:
            shutil.rmtree(scratch / entry.splits_folder, ignore_errors=True)
            problems.append(str(error).replace(f"{scratch}{os.sep}", ""))
            continue
        if source is mirror:
            _copy(source, entry.splits_folder, scratch, root)
        return splits
    if problems:
        warnings.warn(
            f"{entry.name}: without its geom-gcn splits ({'; '.join(problems)}); "
            f"`girl datasets fetch {entry.name} --again` looks for them again",
            stacklevel=5,
        )
    return None


def _copy(source: Path, part: str, scratch: Path, root: Path) -> None:
    """Copy files without their permissions: those of a read-only mirror would prevent the move into the cache."""
    with _writing(root):
        for path in (source / part).rglob("*"):
            inside = path.relative_to(source)
            if path.is_file() and "processed" not in inside.parts:
                (scratch / inside).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, scratch / inside)


def _load_cached(entry: Entry, root: Path) -> NodeDataset | None:
    if not (path := graph_path(entry, root)).is_file():
        return None
    from girl.datasets.graph_file import load_graph

    try:
        return load_graph(path, entry.name)
    except DamagedError as error:
        warnings.warn(f"{error}; it is made again from the raw files", stacklevel=4)
        return None


def _check_apart(cache: Path, mirror: Path | None) -> None:
    if mirror is not None and cache.resolve() == mirror.resolve():
        raise InputError(
            f"{cache}: given as the cache and as the mirror, which is only read; "
            "choose another folder by --data-root or GIRL_DATA, or do without the mirror"
        )


@contextmanager
def _writing(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{root}: cannot be written ({error.strerror or error}); choose another folder by --data-root or GIRL_DATA"
        ) from error


def _has_raw(entry: Entry, root: Path) -> bool:
    return not missing(root / entry.folder, entry.files)


def _has_splits(entry: Entry, root: Path) -> bool:
    return bool(entry.splits_folder) and not missing(root / entry.splits_folder, entry.splits_files)


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _readable(entry: Entry, root: Path, part: str) -> bool:
    """Whether a folder of raw files is complete; splits are small enough to be read as well."""
    if part == entry.folder:
        return _has_raw(entry, root)
    try:
        read_raw_splits(entry, root)
    except DamagedError:
        return False
    return True
