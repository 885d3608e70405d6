"""Files that are not what they were: checkpoints, finished runs, datasets."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import save_file
from torch import zeros

from tests.helpers.faults import left_behind, said

PRETRAIN = ["pretrain", "digits", "--hidden", "8", "--save-every", "1", "--out", "run", "--epochs"]


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def foreign(path: Path) -> None:
    save_file({"a": zeros(3)}, path)


DAMAGE = {
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-40]),
    "a bit flipped": lambda path: path.write_bytes(flipped(path.read_bytes())),
    "empty": lambda path: path.write_bytes(b""),
    "foreign": foreign,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_checkpoint_before_a_damaged_one_serves(run, tmp_path, damage):
    assert run([*PRETRAIN, "3"]) == 0
    expected = np.load("run/embeddings.npy")
    *_, newest = sorted((tmp_path / "run" / "checkpoints").iterdir())
    DAMAGE[damage](newest)
    for name in ("embeddings.npy", "model.safetensors", "config.json", "history.json"):
        (tmp_path / "run" / name).unlink()
    assert run([*PRETRAIN, "3"]) == 0
    assert "checkpoint skipped" in said(tmp_path)
    assert np.array_equal(np.load("run/embeddings.npy"), expected)
    assert not left_behind(tmp_path)


def test_without_a_whole_checkpoint_training_starts_anew(run, tmp_path):
    assert run([*PRETRAIN, "2"]) == 0
    expected = np.load("run/embeddings.npy")
    for path in (tmp_path / "run" / "checkpoints").iterdir():
        path.write_bytes(b"not a checkpoint")
    assert run([*PRETRAIN, "2"]) == 0
    assert np.array_equal(np.load("run/embeddings.npy"), expected)


def test_a_damaged_run_says_how_to_make_it_again(run, tmp_path):
    assert run([*PRETRAIN, "1"]) == 0
    for file in ("model.safetensors", "config.json", "history.json"):
        path = tmp_path / "run" / file
        whole = path.read_bytes()
        for damage in ("cut short", "empty"):
            DAMAGE[damage](path)
            assert run(["report", "run"]) == 2
            assert "damaged" in said(tmp_path)
            assert "run the command that made it again" in said(tmp_path)
            path.write_bytes(whole)
    path.unlink()
    assert run([*PRETRAIN, "1"]) == 0
    assert path.read_bytes() == whole


def test_a_damaged_dataset_is_named_and_not_kept(run, tmp_path, mirror):
    bad = tmp_path / "mirror"
    shutil.copytree(mirror / "Photo", bad / "Photo")
    file = bad / "Photo" / "raw" / "amazon_electronics_photo.npz"
    file.write_bytes(flipped(file.read_bytes()))
    assert run(["datasets", "fetch", "photo", "--mirror", str(bad)]) == 2
    assert file.name in said(tmp_path)
    assert "repair the mirror" in said(tmp_path)
    assert not [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert run(["datasets", "fetch", "photo", "--mirror", str(mirror)]) == 0


def test_a_graph_that_was_damaged_in_the_cache_is_made_anew(run, tmp_path, mirror):
    fetch = ["datasets", "fetch", "texas", "--mirror", str(mirror)]
    assert run(fetch) == 0
    (kept,) = (tmp_path / "data" / "graphs").glob("texas*")
    whole = kept.read_bytes()
    kept.write_bytes(flipped(whole))
    assert run(fetch) == 0
    assert "it is made again from the raw files" in said(tmp_path)
    assert len(kept.read_bytes()) == len(whole)
