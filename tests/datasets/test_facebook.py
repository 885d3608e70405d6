from __future__ import annotations

import shutil

import numpy as np
import pytest
import scipy.io
import scipy.sparse
import torch
from torch_geometric.datasets import LINKXDataset

from girl import datasets, splits
from girl.datasets.facebook import read_facebook
from girl.datasets.raw import read_raw
from girl.datasets.registry import find
from girl.errors import DamagedError

#: Status, gender and dormitory of four students; 0 is unknown.
TABLE = np.array([[1, 2, 90], [1, 0, 0], [3, 1, 95], [1, 1, 90]], np.uint16)
ADJACENCY = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]], float)


@pytest.fixture
def path(tmp_path):
    scipy.io.savemat(tmp_path / "data.mat", {"A": scipy.sparse.csc_matrix(ADJACENCY), "local_info": TABLE})
    return tmp_path / "data.mat"


def test_gender_is_the_label_and_other_columns_are_one_hot(path):
    data = read_facebook(path)
    assert data.y.tolist() == [1, -1, 0, 0]
    assert data.x.to_dense().tolist() == [[1, 0, 0, 1, 0], [1, 0, 1, 0, 0], [0, 1, 0, 0, 1], [1, 0, 0, 1, 0]]
    assert data.edge_index.tolist() == [[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]


def test_columns_of_one_category_form_a_group(path):
    data = read_facebook(path)
    assert data.column_group.tolist() == [0, 0, 1, 1, 1]
    assert data.column_group.dtype == torch.int64
    for group in data.column_group.unique():
        assert bool((data.x.to_dense()[:, data.column_group == group].sum(1) == 1).all())


def test_the_graph_is_that_of_the_class(mirror, cache, tmp_path):
    ours = datasets.load("amherst41", cache, mirror).data
    folder = find("amherst41").folder
    shutil.copytree(mirror / folder, tmp_path / folder)
    theirs = LINKXDataset(str(tmp_path), "amherst41")[0]
    assert torch.equal(ours.x.to_dense(), theirs.x)
    assert torch.equal(ours.edge_index, theirs.edge_index)
    assert torch.equal(ours.y, theirs.y)
    assert ours.column_group.bincount().tolist() == [5, 30, 31, 35, 16, 1076]


def test_students_of_unknown_gender_are_in_no_split(mirror, cache):
    dataset = datasets.load("amherst41", cache, mirror)
    assert int((dataset.data.y == -1).sum()) == 203
    for split in splits.get("random-60-20-20").splits(dataset):
        nodes = torch.cat([split.train, split.val, split.test])
        assert bool((dataset.data.y[nodes] >= 0).all())
        assert len(nodes) == 2_235 - 203


@pytest.mark.parametrize("fraction", [0.0, 0.001, 0.5, 0.99])
def test_a_file_that_was_cut_short_is_named(fraction, mirror, tmp_path):
    entry = find("amherst41")
    content = (mirror / entry.folder / "data.mat").read_bytes()
    (tmp_path / entry.folder).mkdir(parents=True)
    (tmp_path / entry.folder / "data.mat").write_bytes(content[: int(fraction * len(content))])
    with pytest.raises(DamagedError, match="data.mat: is (empty|damaged or cut short)") as caught:
        read_raw(entry, tmp_path)
    assert len(str(caught.value).splitlines()) == 1
