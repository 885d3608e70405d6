"""Raw files from the network, through the dataset's own class of torch_geometric where there is one."""

from __future__ import annotations

import http.client
import shutil
import urllib.request
import zipfile
from pathlib import Path

from girl.datasets.registry import Entry
from girl.errors import InputError

_OGB = "https://snap.stanford.edu/ogb/data/nodeproppred/{}.zip"
_HETEROPHILOUS = "https://github.com/yandex-research/heterophilous-graphs/raw/main/data/{}"
_SPLITS = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/{}"

#: Seconds without a byte after which a server is taken to be unreachable.
TIMEOUT = 30


def download(entry: Entry, root: Path) -> None:
    """Download the raw files of ``entry`` to below ``root``, an empty folder."""
    try:
        if entry.family == "ogb":
            _download_ogb(entry, root)
        elif entry.family == "heterophilous":  # the class of torch_geometric refuses squirrel-filtered
            for file in entry.files:
                _fetch(_HETEROPHILOUS.format(file), root / entry.folder / file)
        else:
            from girl.datasets import readers

            readers.download(entry, root)
    except Exception as error:  # each class raises errors of its own
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        stand_in = f", or `girl datasets make-stand-in {entry.name}` for a random graph" if entry.stand_in else ""
        raise InputError(
            f"{entry.name}: could not be downloaded ({reason}); "
            f"give a folder that holds {entry.folder} as --mirror or GIRL_MIRROR{stand_in}, or try again online"
        ) from error


def download_splits(entry: Entry, root: Path) -> None:
    """Download the optional splits of ``entry`` to below ``root``; raises OSError."""
    for file in entry.splits_files:
        _fetch(_SPLITS.format(file), root / entry.splits_folder / file)


def _download_ogb(entry: Entry, root: Path) -> None:
    short = entry.name.removeprefix("ogbn-")
    archive = root / "archive.zip"
    _fetch(_OGB.format(short), archive)
    with zipfile.ZipFile(archive) as file:
        file.extractall(root)  # never above root: zipfile drops ".." from names
    archive.unlink()
    (root / short).rename(root / entry.folder)


def _fetch(url: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer, path.open("wb") as file:
            shutil.copyfileobj(answer, file, 1 << 20)
            expected = answer.headers.get("Content-Length")
    except http.client.HTTPException as error:  # a broken connection, but not an OSError
        raise OSError(f"{url}: {type(error).__name__} ({error})") from error
    if expected is not None and path.stat().st_size != int(expected):
        raise OSError(f"{url}: {path.stat().st_size:,} of {int(expected):,} bytes arrived")
