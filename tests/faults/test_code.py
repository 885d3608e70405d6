"""Files that would run code if they were loaded as their makers intend: none does, whatever it is given as."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.helpers.faults import said

MARK = Path("was here")


class Intruder:
    def __reduce__(self):
        return Path.touch, (MARK,)


def bare(path: Path) -> None:
    path.write_bytes(pickle.dumps(Intruder()))


def array(path: Path) -> None:
    held = np.empty(1, dtype=object)
    held[0] = Intruder()
    with path.open("wb") as file:
        np.save(file, held, allow_pickle=True)


def archive(path: Path) -> None:
    held = np.empty(1, dtype=object)
    held[0] = Intruder()
    with path.open("wb") as file:
        np.savez(file, data=held, indices=held, indptr=held, shape=np.array([1, 1]), format=np.array(b"csr"))


def saved(path: Path) -> None:
    torch.save({"x": Intruder()}, path)


def yaml(path: Path) -> None:
    path.write_text(
        f"train: !!python/object/apply:pathlib.Path.touch [!!python/object/apply:pathlib.Path ['{MARK}']]\n"
    )


@pytest.mark.parametrize(
    ("make", "name", "command"),
    [
        (bare, "edges.npy", "embed edges.npy"),
        (archive, "edges.npz", "embed edges.npz"),
        (saved, "edges.pt", "embed edges.pt"),
        (bare, "edges.pt", "embed edges.pt"),
        (bare, "edges.parquet", "embed edges.parquet"),
        (array, "x.npy", "rho x.npy y.csv"),
        (archive, "x.npz", "rho x.npz y.csv"),
        (yaml, "recipe.yaml", "pretrain digits --recipe recipe.yaml"),
        (bare, "recipe.toml", "pretrain digits --recipe recipe.toml"),
    ],
)
def test_a_user_s_file(run, tmp_path, make, name, command):
    make(tmp_path / name)
    (tmp_path / "y.csv").write_text("a\n1\n2\n")
    assert run(command) == 2
    assert "Traceback" not in said(tmp_path)
    assert not MARK.exists()


@pytest.mark.parametrize("make", [bare, saved])
@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "embeddings.npy"])
def test_a_file_of_a_run(run, tmp_path, make, file):
    assert run("pretrain digits --hidden 8 --epochs 1 --out run") == 0
    make(tmp_path / "run" / file)
    # Vectors that cannot be read are computed again; without a model or its configuration there is no report.
    assert run(["report", "run"]) == (0 if file == "embeddings.npy" else 2)
    assert "Traceback" not in said(tmp_path)
    assert not MARK.exists()


def test_a_checkpoint(run, tmp_path):
    command = "pretrain digits --hidden 8 --epochs 1 --out run"
    assert run(command) == 0
    for path in (tmp_path / "run" / "checkpoints").iterdir():
        bare(path)
    assert run(command) == 0
    assert "checkpoint skipped" in said(tmp_path)
    assert not MARK.exists()


@pytest.mark.parametrize(
    ("part", "file", "make"),
    [
        ("Cora", "ind.cora.allx", bare),
        ("Cora", "ind.cora.graph", bare),
        ("Photo", "amazon_electronics_photo.npz", archive),
        ("texas", "texas_split_0.6_0.2_3.npz", archive),
    ],
)
def test_a_file_of_a_dataset(run, tmp_path, mirror, part, file, make):
    bad = tmp_path / "mirror"
    shutil.copytree(mirror / part, bad / part)
    make(next(path for path in bad.rglob(file) if "geom-gcn" not in path.parts))
    assert run(["datasets", "fetch", part, "--mirror", str(bad)]) == 2
    assert "Traceback" not in said(tmp_path)
    assert not MARK.exists()


def test_a_graph_in_the_cache(run, tmp_path):
    assert run("datasets make-stand-in reddit2 --scale 0.002") == 0
    assert run("datasets fetch reddit2") == 0
    (kept,) = (tmp_path / "data" / "graphs").glob("reddit2*")
    bare(kept)
    assert run("datasets fetch reddit2") == 0
    assert not MARK.exists()
    assert json.loads((tmp_path / "data" / "Reddit2" / "raw" / "stand-in.json").read_text())["stand_in"]
