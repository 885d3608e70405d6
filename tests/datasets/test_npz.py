from __future__ import annotations

import shutil

import numpy as np
import pytest
import torch
from torch_geometric.datasets import Amazon, CitationFull, HeterophilousGraphDataset

from girl import datasets
from girl.datasets.npz import read_heterophilous


@pytest.mark.parametrize(("name", "of"), [("photo", Amazon), ("dblp", CitationFull)])
def test_the_graph_is_that_of_the_class(name, of, mirror, cache, tmp_path):
    ours = datasets.load(name, cache, mirror).data
    folder = datasets.describe(name).folder
    shutil.copytree(mirror / folder, tmp_path / folder)
    theirs = of(str(tmp_path), name)[0]
    x = ours.x.to_dense() if ours.x.layout == torch.sparse_csr else ours.x
    assert torch.equal(x, theirs.x)
    assert torch.equal(ours.edge_index, theirs.edge_index)
    assert torch.equal(ours.y, theirs.y)


def write_heterophilous(path, **changes):
    """Four nodes in a path, with two splits."""
    arrays = {
        "node_features": np.eye(4, 3, dtype=np.float32),
        "node_labels": np.array([0, 1, 1, 0]),
        "edges": np.array([[1, 0], [1, 2], [3, 2]]),
        "train_masks": np.array([[1, 0, 0, 0], [0, 0, 1, 1]], bool),
        "val_masks": np.array([[0, 1, 0, 0], [1, 0, 0, 0]], bool),
        "test_masks": np.array([[0, 0, 1, 1], [0, 1, 0, 0]], bool),
    }
    np.savez(path, **arrays | changes)
    return path


def test_edges_that_are_listed_once_get_both_directions(tmp_path):
    data, _ = read_heterophilous(write_heterophilous(tmp_path / "toy.npz"))
    assert data.edge_index.tolist() == [[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]
    assert data.x.to_dense().tolist() == np.eye(4, 3).tolist()
    assert data.y.tolist() == [0, 1, 1, 0]


def test_each_split_is_a_column(tmp_path):
    _, masks = read_heterophilous(write_heterophilous(tmp_path / "toy.npz"))
    assert all(mask.dtype == torch.bool and mask.shape == (4, 2) for mask in masks)
    assert [mask[:, 1].nonzero().flatten().tolist() for mask in masks] == [[2, 3], [0], [1]]


def test_a_file_with_a_pickle_is_refused(tmp_path):
    path = write_heterophilous(tmp_path / "toy.npz", node_labels=np.array([0, 1, None, 0]))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        read_heterophilous(path)


def test_minesweeper_is_that_of_the_class(mirror, cache, tmp_path):
    dataset = datasets.load("minesweeper", cache, mirror)
    folder = datasets.describe("minesweeper").folder
    shutil.copytree(mirror / folder, tmp_path / folder)
    theirs = HeterophilousGraphDataset(str(tmp_path), "Minesweeper")[0]
    assert torch.equal(dataset.data.x.to_dense(), theirs.x)
    assert torch.equal(dataset.data.edge_index, theirs.edge_index)
    assert torch.equal(dataset.data.y, theirs.y)
    masks = theirs.train_mask, theirs.val_mask, theirs.test_mask
    assert all(torch.equal(a, b) for a, b in zip(dataset.fixed["official"], masks, strict=True))
