from __future__ import annotations

import pickle
import shutil
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
import torch
from torch_geometric.datasets import Planetoid

from girl import datasets
from girl.datasets.planetoid import read_arrays, read_planetoid
from girl.errors import InputError


class Intruder:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["Cora", "CiteSeer", "PubMed"])
def test_the_graph_is_that_of_the_class(mirror, tmp_path, name):
    shutil.copytree(mirror / name / "raw", tmp_path / name / "raw")
    expected = Planetoid(str(tmp_path), name)[0]
    ours = read_planetoid(mirror / name / "raw", name.lower())
    assert torch.equal(ours.x.to_dense(), expected.x)
    for part in ("edge_index", "y", "train_mask", "val_mask", "test_mask"):
        assert torch.equal(ours[part], expected[part])


def test_arrays_matrices_and_dictionaries_are_read(tmp_path):
    path = tmp_path / "some"
    graph = defaultdict(list, {0: [1, 2], 1: []})
    for value in (np.arange(6).reshape(2, 3), scipy.sparse.eye(3, format="csr"), graph):
        for protocol in (3, 4):  # older ones write bytes as calls, and the newest as buffers
            path.write_bytes(pickle.dumps(value, protocol))
            loaded = read_arrays(path)
            assert loaded == value if isinstance(value, dict) else np.array_equal(_dense(loaded), _dense(value))


def _dense(value):
    return value.toarray() if scipy.sparse.issparse(value) else value


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [1, x], lambda x: {"a": (x,)}])
def test_code_in_a_pickle_is_refused_before_it_runs(tmp_path, wrap):
    path, trace = tmp_path / "some", tmp_path / "executed"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        path.write_bytes(pickle.dumps(wrap(Intruder(trace)), protocol))
        with pytest.raises(pickle.UnpicklingError, match="it was not run"):
            read_arrays(path)
        assert not trace.exists()


@pytest.mark.parametrize("file", ["x", "graph", "ally"])
def test_a_dataset_with_code_in_it_is_refused(mirror, tmp_path, file):
    bad, trace = tmp_path / "mirror", tmp_path / "executed"
    shutil.copytree(mirror / "Cora" / "raw", bad / "Cora" / "raw")
    (bad / "Cora" / "raw" / f"ind.cora.{file}").write_bytes(pickle.dumps(Intruder(trace)))
    if file == "x":  # it is not read: `allx` holds the same rows
        datasets.load("cora", root=tmp_path / "cache", mirror=bad)
    else:
        with pytest.raises(InputError, match="it was not run"):
            datasets.load("cora", root=tmp_path / "cache", mirror=bad)
        assert not list((tmp_path / "cache").rglob("*.safetensors"))
    assert not trace.exists()
