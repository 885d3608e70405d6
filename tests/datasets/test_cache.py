from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from girl import datasets, store
from girl.datasets import cache as caching
from girl.datasets import readers
from girl.errors import InputError


def cut(path: Path, fraction: float = 0.6) -> None:
    path.chmod(0o644)
    os.truncate(path, int(path.stat().st_size * fraction))


def copy_raw(mirror: Path, into: Path, *names: str) -> Path:
    """A mirror of these datasets alone, to be damaged."""
    for name in names:
        part = datasets.describe(name).folder
        shutil.copytree(mirror / part, into / part)
    return into


def tree(root: Path) -> dict[str, bytes]:
    """Every file below ``root`` with its contents."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def offline(monkeypatch):
    monkeypatch.delenv("GIRL_MIRROR", raising=False)

    def refuse(*arguments, **options):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # numpy leaves a damaged archive open
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("dblp", "dblp/raw/dblp.npz"),
        ("cora", "Cora/raw/ind.cora.allx"),
        ("cora", "Cora/raw/ind.cora.graph"),
        ("texas", "texas/raw/texas_split_0.6_0.2_3.npz"),
    ],
)
def test_a_cut_file_is_named_and_fetching_again_replaces_it(name, file, mirror, tmp_path):
    copy_raw(mirror, tmp_path / "cache", name)
    cut(tmp_path / "cache" / file)
    with pytest.raises(InputError, match=f"{Path(file).name}.*girl datasets fetch {name} --again"):
        datasets.load(name, tmp_path / "cache")
    assert not (tmp_path / "cache" / "graphs").exists()
    dataset = datasets.fetch(name, tmp_path / "cache", mirror, again=True)
    assert dataset.data.edge_index.shape[1] == datasets.describe(name).edges


def test_a_damaged_mirror_leaves_nothing_in_the_cache(mirror, tmp_path):
    bad = copy_raw(mirror, tmp_path / "mirror", "dblp")
    cut(bad / "dblp/raw/dblp.npz")
    with pytest.raises(InputError, match="mirror/dblp/raw/dblp.npz"):
        datasets.load("dblp", tmp_path / "cache", bad)
    assert not list((tmp_path / "cache").iterdir())
    assert datasets.load("dblp", tmp_path / "cache", mirror).data.x.shape[0] == 17_716


@pytest.mark.parametrize("damage", ["cut", "flip", "junk", "empty"])
def test_a_damaged_graph_is_made_again(damage, mirror, tmp_path, offline):
    before = datasets.load("texas", tmp_path, mirror)
    path = tmp_path / "graphs" / "texas.safetensors"
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[-100] ^= 1
    path.write_bytes({"cut": data[: len(data) // 2], "flip": data, "junk": b"junk" * 99, "empty": b""}[damage])
    with pytest.warns(
        UserWarning, match="texas.safetensors: (not a readable|its contents).*; it is made again"
    ) as caught:
        after = datasets.load("texas", tmp_path)
    assert len(caught) == 1
    assert torch.equal(before.data.edge_index, after.data.edge_index)
    assert torch.equal(before.data.x.values(), after.data.x.values())
    datasets.load("texas", tmp_path)


def test_the_processed_graph_is_enough_without_raw_files(mirror, tmp_path, offline):
    datasets.load("texas", tmp_path, mirror)
    shutil.rmtree(tmp_path / "texas")
    assert datasets.load("texas", tmp_path).data.x.shape[0] == 183


SLOW_COPY = """
import shutil, sys, time
from girl import datasets, store
copy = shutil.copyfile
def slow(source, target):
    with open(target, "wb") as file:
        file.write(open(source, "rb").read()[:100])
    print("half", flush=True)
    time.sleep(60)
shutil.copyfile = slow
datasets.load("texas", sys.argv[1], sys.argv[2])
"""


@pytest.mark.slow
@pytest.mark.faults
def test_a_kill_during_a_copy_leaves_nothing_that_is_used(mirror, tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", SLOW_COPY, str(tmp_path), str(mirror)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        process.send_signal(signal.SIGKILL)
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".texas-raw.")
    with caching.scratch_folder(datasets.describe("texas"), tmp_path) as in_use:
        assert not left.exists()
        assert datasets.load("texas", tmp_path, mirror).data.x.shape[0] == 183
        assert in_use.exists()


def test_raw_files_that_another_process_installed_stay(mirror, tmp_path):
    entry = datasets.describe("texas")
    copy_raw(mirror, tmp_path / "scratch", "texas")
    copy_raw(mirror, tmp_path, "texas")
    (tmp_path / entry.folder / "theirs").touch()
    caching.install(entry, tmp_path / "scratch", tmp_path)
    assert (tmp_path / entry.folder / "theirs").exists()


def test_a_failed_replacement_restores_the_old_files(mirror, tmp_path, monkeypatch):
    copy_raw(mirror, tmp_path / "cache", "texas")
    before = tree(tmp_path / "cache")
    (tmp_path / "cache/texas/raw/out1_graph_edges.txt").unlink()
    rename = Path.rename

    def fail(path: Path, target: Path) -> Path:
        if ".texas-raw." in str(path) and ".old" not in path.parts:
            raise OSError(28, "No space left on device")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(InputError, match="cannot be written .No space left"):
        datasets.fetch("texas", tmp_path / "cache", mirror, again=True)
    assert tree(tmp_path / "cache") == {k: v for k, v in before.items() if "edges" not in k}


def test_a_read_only_mirror_is_copied(mirror, tmp_path):
    sealed = copy_raw(mirror, tmp_path / "mirror", "texas") / "texas" / "raw"
    sealed.chmod(0o555)
    try:
        datasets.load("texas", tmp_path / "cache", tmp_path / "mirror")
        assert os.access(tmp_path / "cache/texas/raw", os.W_OK)
        datasets.fetch("texas", tmp_path / "cache", tmp_path / "mirror", again=True)
    finally:
        sealed.chmod(0o755)


def test_optional_splits_are_offered_only_once_they_are_there(mirror, tmp_path, offline):
    copy_raw(mirror, tmp_path / "mirror", "cora")
    dataset = datasets.load("cora", tmp_path / "cache", tmp_path / "mirror")
    assert list(dataset.fixed) == ["public"]
    assert "geom-gcn" not in dataset.protocols
    dataset = datasets.load("cora", tmp_path / "cache", mirror)
    assert dataset.fixed["geom-gcn"][0].shape == (2708, 10)
    assert "geom-gcn" in datasets.load("cora", tmp_path / "cache").fixed


def test_a_missing_mirror_is_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("GIRL_MIRROR", raising=False)
    assert caching.mirror_root() is None
    with pytest.raises(InputError, match="none: no such folder"):
        caching.mirror_root(tmp_path / "none")


def test_a_cache_that_cannot_be_written_is_named(tmp_path, mirror):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written.*GIRL_DATA"):
        datasets.load("texas", tmp_path / "file", mirror)


def test_cached_loads_are_fast(mirror, cache):
    for name, seconds in (("cora", 0.3), ("physics", 2.0)):
        datasets.load(name, cache, mirror)
        start = time.process_time()
        datasets.load(name, cache)
        assert time.process_time() - start < seconds


def test_availability_follows_the_order_cache_mirror_network(mirror, tmp_path):
    entry = datasets.describe("texas")
    assert caching.availability(datasets.describe("digits"), tmp_path, None) == "built in"
    assert caching.availability(entry, tmp_path, None) == "download"
    assert caching.availability(entry, tmp_path, mirror) == "mirror"
    datasets.load("texas", tmp_path, mirror)
    assert caching.availability(entry, tmp_path, mirror) == "cached"
    shutil.rmtree(tmp_path / "texas")
    assert caching.availability(entry, tmp_path, None) == "cached"


def test_a_half_filled_folder_is_incomplete_in_the_cache_and_in_the_mirror(mirror, tmp_path):
    entry = datasets.describe("texas")
    half = copy_raw(mirror, tmp_path / "half", "texas")
    (half / "texas/raw/out1_graph_edges.txt").unlink()
    assert caching.availability(entry, half, mirror) == "incomplete"
    assert caching.availability(entry, tmp_path / "cache", half) == "incomplete"


def test_a_failed_fetch_leaves_the_cached_copy(mirror, tmp_path, offline):
    for name in ("cora", "usa-airports", "usa-airports-structural"):
        datasets.load(name, tmp_path / "cache", mirror)
    before = tree(tmp_path / "cache")
    bad = copy_raw(mirror, tmp_path / "mirror", "cora")
    cut(bad / "Cora/raw/ind.cora.graph")
    for name, source, words in (
        ("cora", None, "could not be downloaded"),
        ("cora", bad, "ind.cora.graph"),
        ("usa-airports", None, "could not be downloaded"),
    ):
        with pytest.raises(InputError, match=words):
            datasets.fetch(name, tmp_path / "cache", source, again=True)
    assert tree(tmp_path / "cache") == before


def test_fetching_again_replaces_raw_files_and_every_graph_read_from_them(mirror, tmp_path):
    for name in ("usa-airports", "usa-airports-structural"):
        datasets.load(name, tmp_path, mirror)
    (tmp_path / "usa/raw/old").touch()
    datasets.fetch("usa-airports", tmp_path, mirror, again=True)
    assert not (tmp_path / "usa/raw/old").exists()
    assert [path.name for path in (tmp_path / "graphs").iterdir()] == ["usa-airports.safetensors"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graphs", "usa"]


def test_fetching_again_keeps_splits_that_have_no_other_source(mirror, tmp_path, offline):
    datasets.load("cora", tmp_path / "cache", mirror)
    copy_raw(mirror, tmp_path / "mirror", "cora")
    assert "geom-gcn" in datasets.fetch("cora", tmp_path / "cache", tmp_path / "mirror", again=True).fixed


def test_a_mirror_cannot_be_its_own_cache(mirror, tmp_path):
    copy_raw(mirror, tmp_path / "mirror", "texas")
    (tmp_path / "link").symlink_to(tmp_path / "mirror")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "texas").symlink_to(tmp_path / "mirror" / "texas")
    before = tree(tmp_path / "mirror")
    for root in ("mirror", "link", "cache"):
        with pytest.raises(InputError, match="given as the cache and as the mirror.*--data-root"):
            datasets.fetch("texas", tmp_path / root, tmp_path / "mirror", again=True)
    with pytest.raises(InputError, match="given as the cache and as the mirror"):
        datasets.load("texas", tmp_path / "link", tmp_path / "mirror")
    assert tree(tmp_path / "mirror") == before


SPLIT = "Cora/geom-gcn/raw/cora_split_0.6_0.2_3.npz"


def with_splits(mirror: Path, into: Path) -> Path:
    copy_raw(mirror, into, "cora")
    shutil.copytree(mirror / "Cora/geom-gcn", into / "Cora/geom-gcn")
    return into


@pytest.mark.parametrize("source", ["mirror", "cache"])
@pytest.mark.parametrize("damage", ["cut", "other"])
def test_damaged_splits_are_left_out_until_they_are_replaced(source, damage, mirror, tmp_path, offline):
    with_splits(mirror, tmp_path / source)
    if damage == "cut":
        cut(tmp_path / source / SPLIT)
    else:
        shutil.copyfile(mirror / "texas/raw/texas_split_0.6_0.2_3.npz", tmp_path / source / SPLIT)
    given = (tmp_path / "cache", tmp_path / "mirror" if source == "mirror" else None)
    for _ in range(2):
        with pytest.warns(UserWarning, match=f"cora: without its geom-gcn splits.*{source}/Cora/geom-gcn") as caught:
            dataset = datasets.load("cora", *given)
        assert len(caught) == 1
        assert list(dataset.fixed) == ["public"]
        assert "geom-gcn" not in dataset.protocols
    assert (tmp_path / "cache/Cora/geom-gcn").exists() == (source == "cache")
    assert datasets.load("cora", tmp_path / "cache", mirror).fixed["geom-gcn"][0].shape == (2708, 10)
    assert (tmp_path / "cache" / SPLIT).read_bytes() == (mirror / SPLIT).read_bytes()
    assert "geom-gcn" in datasets.load("cora", tmp_path / "cache").fixed


def test_incomplete_splits_in_the_cache_are_completed_once(mirror, tmp_path, offline, monkeypatch):
    with_splits(mirror, tmp_path)
    (tmp_path / SPLIT).unlink()
    assert "geom-gcn" not in datasets.load("cora", tmp_path).fixed
    assert "geom-gcn" in datasets.load("cora", tmp_path, mirror).fixed
    assert (tmp_path / SPLIT).is_file()
    monkeypatch.setattr(readers, "read", None)  # no raw file is read again
    assert "geom-gcn" in datasets.load("cora", tmp_path, mirror).fixed


def test_the_graph_of_another_dataset_is_not_used(mirror, tmp_path, offline):
    datasets.load("texas", tmp_path, mirror)
    copy_raw(mirror, tmp_path, "dblp")
    shutil.copyfile(tmp_path / "graphs/texas.safetensors", tmp_path / "graphs/dblp.safetensors")
    with pytest.warns(UserWarning, match="dblp.safetensors: holds texas, not dblp; it is made again"):
        assert datasets.load("dblp", tmp_path).data.x.shape[0] == 17_716
    shutil.copyfile(tmp_path / "graphs/texas.safetensors", tmp_path / "graphs/photo.safetensors")
    assert caching.availability(datasets.describe("photo"), tmp_path, None) == "download"


def test_a_graph_of_another_format_is_made_again(mirror, tmp_path, offline):
    datasets.load("texas", tmp_path, mirror)
    path = tmp_path / "graphs/texas.safetensors"
    tensors, value = store.load(path)
    store.save(path, tensors, value | {"format": 1})
    with pytest.warns(UserWarning, match="texas.safetensors: written by another version of girl; it is made again"):
        datasets.load("texas", tmp_path)
    shutil.rmtree(tmp_path / "texas")
    assert caching.availability(datasets.describe("texas"), tmp_path, None) == "cached"
    save_file({"a": torch.ones(2)}, path)
    assert caching.availability(datasets.describe("texas"), tmp_path, None) == "download"
    with pytest.warns(UserWarning, match="texas.safetensors: not written by this version of girl; it is made again"):
        datasets.load("texas", tmp_path, mirror)
