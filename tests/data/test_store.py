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

from girl import datasets
from girl.data import store
from girl.errors import InputError

TEXT = ("usa-airports", "usa/raw/usa-airports.edgelist")


def cut(path: Path, share: float = 0.6) -> None:
    path.chmod(0o644)
    os.truncate(path, int(path.stat().st_size * share))


def some(mirror: Path, into: Path, *names: str) -> Path:
    """A mirror of these datasets alone, to be harmed."""
    for name in names:
        part = datasets.describe(name).part
        shutil.copytree(mirror / part, into / part)
    return into


@pytest.fixture
def offline(monkeypatch):
    def refuse(*arguments, **options):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # numpy leaves a file open that is not a whole archive
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("dblp", "dblp/raw/dblp.npz"),
        ("cora", "Cora/raw/ind.cora.allx"),
        ("cora", "Cora/raw/ind.cora.graph"),
        ("texas", "texas/raw/texas_split_0.6_0.2_3.npz"),
    ],
)
def test_a_cut_file_is_named_and_fetching_again_mends_it(name, file, mirror, tmp_path):
    some(mirror, tmp_path / "cache", name)
    cut(tmp_path / "cache" / file)
    with pytest.raises(InputError, match=f"{Path(file).name}.*girl datasets fetch {name} --again"):
        datasets.load(name, tmp_path / "cache")
    assert not (tmp_path / "cache" / "graphs").exists()
    found = datasets.fetch(name, tmp_path / "cache", mirror, again=True)
    assert found.data.edge_index.shape[1] == datasets.describe(name).edges


def test_a_text_cut_between_lines_is_told_by_its_counts(mirror, tmp_path):
    name, file = TEXT
    some(mirror, tmp_path, name)
    path = tmp_path / file
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:9000]))
    with pytest.raises(InputError, match="usa/raw: .*edges, expected 13,599.*--again"):
        datasets.load(name, tmp_path)


def test_a_missing_file_is_named(mirror, tmp_path):
    some(mirror, tmp_path, "texas")
    (tmp_path / "texas/raw/out1_graph_edges.txt").unlink()
    with pytest.raises(InputError, match="out1_graph_edges.txt: is missing"):
        datasets.load("texas", tmp_path)


def test_a_damaged_mirror_leaves_nothing_in_the_cache(mirror, tmp_path):
    bad = some(mirror, tmp_path / "mirror", "dblp")
    cut(bad / "dblp/raw/dblp.npz")
    with pytest.raises(InputError, match="mirror/dblp/raw/dblp.npz"):
        datasets.load("dblp", tmp_path / "cache", bad)
    assert not list((tmp_path / "cache").iterdir())
    assert datasets.load("dblp", tmp_path / "cache", mirror).data.x.shape[0] == 17_716


@pytest.mark.parametrize("harm", ["cut", "flip", "junk", "empty"])
def test_a_damaged_graph_is_made_anew(harm, mirror, tmp_path, offline):
    before = datasets.load("texas", tmp_path, mirror)
    path = tmp_path / "graphs" / "texas.safetensors"
    whole = bytearray(path.read_bytes())
    if harm == "flip":
        whole[-100] ^= 1
    path.write_bytes({"cut": whole[: len(whole) // 2], "flip": whole, "junk": b"junk" * 99, "empty": b""}[harm])
    with pytest.warns(UserWarning, match="texas.safetensors: damaged; it is made anew") as caught:
        after = datasets.load("texas", tmp_path)
    assert len(caught) == 1
    assert torch.equal(before.data.edge_index, after.data.edge_index)
    assert torch.equal(before.data.x.values(), after.data.x.values())
    datasets.load("texas", tmp_path)


def test_the_graph_suffices_without_raw_files(mirror, tmp_path, offline):
    datasets.load("texas", tmp_path, mirror)
    shutil.rmtree(tmp_path / "texas")
    assert datasets.load("texas", tmp_path).data.x.shape[0] == 183


SLOW_COPY = """
import shutil, sys, time
from girl import datasets
copy = shutil.copyfile
def slow(source, target):
    with open(target, "wb") as file:
        file.write(open(source, "rb").read()[:100])
    print("half", flush=True)
    time.sleep(60)
shutil.copyfile = slow
datasets.load("texas", sys.argv[1], sys.argv[2])
"""


def test_a_kill_in_the_middle_of_a_copy_does_no_harm(mirror, tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", SLOW_COPY, str(tmp_path), str(mirror)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        process.send_signal(signal.SIGKILL)
    left = list(tmp_path.iterdir())
    assert [path.name.startswith(".texas-raw.") for path in left] == [True]
    assert datasets.load("texas", tmp_path, mirror).data.x.shape[0] == 183
    datasets.fetch("texas", tmp_path, mirror, again=True)
    assert not left[0].exists()


def test_raw_files_that_another_process_placed_are_kept(mirror, tmp_path):
    entry = datasets.describe("texas")
    some(mirror, tmp_path / "scratch", "texas")
    (tmp_path / entry.part).mkdir(parents=True)
    (tmp_path / entry.part / "theirs").touch()
    store.place(entry, tmp_path / "scratch", tmp_path)
    assert (tmp_path / entry.part / "theirs").exists()


def test_a_read_only_mirror_is_copied(mirror, tmp_path):
    sealed = some(mirror, tmp_path / "mirror", "texas") / "texas" / "raw"
    sealed.chmod(0o555)
    try:
        datasets.load("texas", tmp_path / "cache", tmp_path / "mirror")
        assert os.access(tmp_path / "cache/texas/raw", os.W_OK)
        datasets.fetch("texas", tmp_path / "cache", tmp_path / "mirror", again=True)
    finally:
        sealed.chmod(0o755)


def test_without_its_other_splits_a_dataset_does_not_offer_them_until_they_arrive(mirror, tmp_path, offline):
    some(mirror, tmp_path / "mirror", "cora")
    found = datasets.load("cora", tmp_path / "cache", tmp_path / "mirror")
    assert list(found.fixed) == ["public"]
    assert "geom-gcn" not in found.protocols
    found = datasets.load("cora", tmp_path / "cache", mirror)
    assert found.fixed["geom-gcn"][0].shape == (2708, 10)
    assert "geom-gcn" in datasets.load("cora", tmp_path / "cache").fixed


@pytest.mark.parametrize("name", ["photo", "ogbn-arxiv", "reddit"])
def test_offline_the_ways_out_are_said(name, tmp_path, offline, monkeypatch):
    monkeypatch.delenv("GIRL_MIRROR", raising=False)
    entry = datasets.describe(name)
    with pytest.raises(InputError, match=f"{name}: could not be downloaded .*{entry.part}.*GIRL_MIRROR") as caught:
        datasets.load(name, tmp_path)
    assert ("make-stand-in" in str(caught.value)) == entry.stand_in
    assert not list(tmp_path.iterdir())


def test_places_are_given_or_in_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("GIRL_DATA", str(tmp_path / "a"))
    assert store.cache_root(tmp_path / "b") == tmp_path / "b"
    assert store.cache_root() == tmp_path / "a"
    monkeypatch.delenv("GIRL_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert store.cache_root() == tmp_path / "girl"
    with pytest.raises(InputError, match="none: no such folder"):
        store.mirror_root(tmp_path / "none")


def test_a_cache_that_cannot_be_written_is_said(tmp_path, mirror):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written.*GIRL_DATA"):
        datasets.load("texas", tmp_path / "file", mirror)


def test_cached_loads_are_fast(mirror, cache):
    for name, seconds in (("cora", 0.3), ("physics", 2.0)):
        datasets.load(name, cache, mirror)
        start = time.process_time()
        datasets.load(name, cache)
        assert time.process_time() - start < seconds


def test_where_a_dataset_is_at_hand(mirror, tmp_path):
    entry = datasets.describe("texas")
    assert store.at_hand(datasets.describe("digits"), tmp_path, None) == "built in"
    assert store.at_hand(entry, tmp_path, None) == "download"
    assert store.at_hand(entry, tmp_path, mirror) == "mirror"
    datasets.load("texas", tmp_path, mirror)
    assert store.at_hand(entry, tmp_path, mirror) == "cached"
    shutil.rmtree(tmp_path / "texas")
    assert store.at_hand(entry, tmp_path, None) == "cached"
