"""From a name to a graph: the cache, else a mirror of raw files, else the network.

Below the cache root are the raw files, laid out as in a mirror, and ``graphs/NAME.safetensors``, what was read from
them. Raw files arrive in a scratch folder beside, are read there, and take their place by a rename once they have
been found whole: neither an interruption nor a damaged file leaves anything in the cache, or takes anything from it.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from girl.datasets.file_checks import missing
from girl.datasets.raw import DamagedError, is_stand_in, offered, read_raw, read_raw_splits
from girl.datasets.registry import DATASETS, Entry
from girl.errors import InputError

if TYPE_CHECKING:
    from girl.datasets.dataset import Masks, NodeDataset

#: Seconds without a change after which a scratch folder counts as left by an interrupted run.
ABANDONED = 24 * 3600


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
        return read_raw(entry, root)
    _check_apart(root, mirror)
    if (found := _cached(entry, root)) is None:
        return _make(entry, root, mirror)
    # Splits that could not be had before may be now.
    places = [place for place in (root, mirror) if place is not None]
    if set(entry.protocols) - set(found.protocols) and any(
        _complete(place, entry.splits_part, entry.splits_files) for place in places
    ):
        more = _add_splits(entry, found, root, mirror)
        return found if more is found else _keep(entry, more, root)
    return found


def fetch(entry: Entry, root: Path, mirror: Path | None, again: bool = False) -> NodeDataset:
    """Bring the dataset into the cache; ``again`` fetches it anew, and then throws away what was there."""
    if not (again and entry.part):
        return load(entry, root, mirror)
    _check_apart(root / entry.part, None if mirror is None else mirror / entry.part)
    _sweep(entry, root)
    return _make(entry, root, mirror, again=True)


def at_hand(entry: Entry, root: Path, mirror: Path | None) -> str:
    """Where :func:`load` would find the dataset: built in, cached, stand-in, mirror or download.

    Raw files in the cache or the mirror that lack one are incomplete: :func:`load` would say which.
    """
    if not entry.part:
        return "built in"
    if _complete(root, entry.part, entry.files):
        return "stand-in" if is_stand_in(entry, root) else "cached"
    if graph_file(entry, root).is_file():
        from girl.datasets.graph_file import UnusableError, read_about

        with suppress(UnusableError):
            return "stand-in" if read_about(graph_file(entry, root), entry.name)["stand_in"] else "cached"
    if _occupied(root / entry.part):
        return "incomplete"
    if mirror is None or not _occupied(mirror / entry.part):
        return "download"
    if not _complete(mirror, entry.part, entry.files):
        return "incomplete"
    return "stand-in (mirror)" if is_stand_in(entry, mirror) else "mirror"


def place(entry: Entry, scratch: Path, root: Path, replace: bool = False) -> None:
    """Move the raw files of ``entry`` from ``scratch`` to their place below ``root``; each folder in one step.

    What is there stays if it is whole, since another process may be reading it, unless it is to be replaced.
    """
    for part in filter(None, (entry.part, entry.splits_part)):
        if (scratch / part).is_dir():
            _place(entry, scratch, root, part, replace)


def _place(entry: Entry, scratch: Path, root: Path, part: str, replace: bool) -> None:
    new, there, old = scratch / part, root / part, scratch / ".old" / part
    there.parent.mkdir(parents=True, exist_ok=True)
    if replace:
        old.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            there.rename(old)
    try:
        new.rename(there)  # fails if there are files already
    except OSError:
        if _whole(entry, root, part):  # another process has placed its copy in the meantime: as good as ours
            return
        if replace:
            with suppress(OSError):
                old.rename(there)
            raise
        _place(entry, scratch, root, part, replace=True)


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


def _sweep(entry: Entry, root: Path) -> None:
    """Remove what interrupted runs left; a folder that was written to of late may be another process's."""
    for scratch in root.glob(f"{_scratch_prefix(entry)}*"):
        with suppress(OSError):  # its owner may remove it meanwhile
            touched = max(path.lstat().st_mtime for path in (scratch, *scratch.rglob("*")))
            if time.time() - touched > ABANDONED:
                shutil.rmtree(scratch, ignore_errors=True)


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


def _complete(root: Path, part: str, files: tuple[str, ...]) -> bool:
    return bool(part) and not missing(root / part, files)


def _occupied(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _whole(entry: Entry, root: Path, part: str) -> bool:
    """Whether a folder of raw files has them all; splits are small enough to be read as well."""
    if part == entry.part:
        return _complete(root, part, entry.files)
    try:
        read_raw_splits(entry, root)
    except DamagedError:
        return False
    return True


def _cached(entry: Entry, root: Path) -> NodeDataset | None:
    path = graph_file(entry, root)
    if not path.is_file():
        return None
    from girl.datasets.graph_file import UnusableError, read_graph

    try:
        return read_graph(path, entry.name)
    except UnusableError as error:
        warnings.warn(f"{error}; it is made anew from the raw files", stacklevel=5)
        return None


def _keep(entry: Entry, found: NodeDataset, root: Path) -> NodeDataset:
    from girl.datasets.graph_file import write_graph

    with _writing(root):
        write_graph(graph_file(entry, root), found)
    return found


def _make(entry: Entry, root: Path, mirror: Path | None, again: bool = False) -> NodeDataset:
    """Read the raw files, after bringing them if need be, and keep what was read."""
    if again or not _occupied(root / entry.part):
        return _keep(entry, _bring(entry, root, mirror, again), root)
    try:
        found = read_raw(entry, root)
    except DamagedError as error:
        raise InputError(
            f"{root / entry.part / error.file}: {error.problem}; `girl datasets fetch {entry.name} --again` "
            "throws the cached copy away and fetches it anew"
        ) from error
    return _keep(entry, _add_splits(entry, found, root, mirror), root)


def _add_splits(entry: Entry, found: NodeDataset, root: Path, mirror: Path | None) -> NodeDataset:
    """What was found in the cache, with the splits that are at hand."""
    if not entry.splits_part:
        return found
    with scratch_folder(entry, root) as scratch:
        splits = _bring_splits(entry, root, scratch, mirror, downloading=False)
        with _writing(root):
            place(entry, scratch, root)
    return _with_splits(entry, found, splits)


def _bring(entry: Entry, root: Path, mirror: Path | None, again: bool) -> NodeDataset:
    """Raw files into the cache from the mirror or the network, once they have been read without fault."""
    from girl.datasets.download import download

    with scratch_folder(entry, root) as scratch:
        mirrored = mirror if mirror is not None and _occupied(mirror / entry.part) else None
        if mirrored is not None:
            with _writing(root):
                _copy(mirrored, scratch, entry.part)
        else:
            download(entry, scratch)
        try:
            found = read_raw(entry, scratch)
        except DamagedError as error:
            if mirrored is not None:
                where, remedy = mirrored / entry.part / error.file, "mend the mirror, or do without it"
            else:
                where, remedy = Path(entry.part, error.file), "as downloaded"
            raise InputError(
                f"{where}: {error.problem}; {remedy}, then `girl datasets fetch {entry.name} --again`"
            ) from error
        splits = _bring_splits(entry, root, scratch, mirror, downloading=mirrored is None, again=again)
        with _writing(root):
            if again:
                for other in DATASETS.values():
                    if other.part == entry.part:  # two datasets may be read from the same files
                        graph_file(other, root).unlink(missing_ok=True)
            place(entry, scratch, root, replace=again)
    return _with_splits(entry, found, splits)


def _bring_splits(
    entry: Entry, root: Path, scratch: Path, mirror: Path | None, downloading: bool, again: bool = False
) -> Masks | None:
    """The splits that the data can do without, from the first place that has them whole.

    Those of the cache stay there, and are the last resort if it is to be filled ``again``; others go to ``scratch``.
    """
    part, files = entry.splits_part, entry.splits_files
    ways: list[tuple[str, Callable[[], Path]]] = []
    if mirror is not None and _complete(mirror, part, files):
        ways.append((f"{mirror / part}: ", lambda: _copy_splits(entry, root, mirror, scratch)))
    if part and downloading:
        ways.append(("", lambda: _download_splits(entry, scratch)))
    if _complete(root, part, files):
        ways.insert(len(ways) if again else 0, (f"{root / part}: ", lambda: root))
    problems = []
    for where, bring in ways:
        try:
            return read_raw_splits(entry, bring())
        except (DamagedError, OSError) as error:
            shutil.rmtree(scratch / part, ignore_errors=True)
            problems.append(f"{where}{error}")
    if problems:
        warnings.warn(
            f"{entry.name}: without its geom-gcn splits ({'; '.join(problems)}); "
            f"`girl datasets fetch {entry.name} --again` looks for them anew",
            stacklevel=6,
        )
    return None


def _copy_splits(entry: Entry, root: Path, mirror: Path, scratch: Path) -> Path:
    with _writing(root):
        _copy(mirror, scratch, entry.splits_part)
    return scratch


def _download_splits(entry: Entry, scratch: Path) -> Path:
    from girl.datasets.download import download_splits

    download_splits(entry, scratch)
    return scratch


def _copy(mirror: Path, scratch: Path, part: str) -> None:
    """Files only: the permissions of a mirror, which may be read-only, would keep the copy from being moved."""
    for path in (mirror / part).rglob("*"):
        inside = path.relative_to(mirror / part)
        if path.is_file() and "processed" not in inside.parts:
            (scratch / part / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, scratch / part / inside)


def _with_splits(entry: Entry, found: NodeDataset, splits: Masks | None) -> NodeDataset:
    if splits is None:
        return found
    fixed = found.fixed | {"geom-gcn": splits}
    return dataclasses.replace(found, fixed=fixed, protocols=offered(entry, fixed))
