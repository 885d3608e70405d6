from __future__ import annotations

import shutil

import numpy as np
import pytest
import torch
from torch_geometric.datasets import Actor, Airports, TUDataset, WebKB

from girl import datasets
from girl.datasets import readers
from girl.datasets.registry import find


def test_the_digits_need_no_file_and_are_undirected(tmp_path):
    dataset = datasets.load("digits", tmp_path)
    source, target = dataset.data.edge_index
    key = len(dataset.data.y)
    assert torch.equal((source * key + target).sort().values, (target * key + source).sort().values)
    assert (dataset.data.x.min(), dataset.data.x.max()) == (0, 1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("texas", lambda root: WebKB(root, "texas")),
        ("actor", lambda root: Actor(f"{root}/Actor")),
        ("usa-airports", lambda root: Airports(root, "usa")),
    ],
)
def test_a_graph_is_that_of_its_class(name, build, mirror, cache, tmp_path):
    ours = datasets.load(name, cache, mirror).data
    shutil.copytree(mirror / find(name).folder, tmp_path / find(name).folder)
    theirs = build(str(tmp_path))[0]
    assert torch.equal(ours.x.to_dense(), theirs.x)
    assert torch.equal(ours.edge_index, theirs.edge_index)
    assert torch.equal(ours.y, theirs.y)


def test_a_set_of_graphs_is_the_disjoint_union_of_those_of_the_class(mirror, cache, tmp_path):
    union = datasets.load("mutag", cache, mirror).data
    shutil.copytree(mirror / find("mutag").folder, tmp_path / "MUTAG/raw")
    theirs = TUDataset(str(tmp_path), "MUTAG")
    assert len(theirs) == len(union.y) == find("mutag").graphs
    x = union.x.to_dense()
    for index in (0, 7, len(theirs) - 1):
        nodes = (union.graph == index).nonzero().flatten()
        edges = union.edge_index[:, union.graph[union.edge_index[0]] == index] - nodes[0]
        assert torch.equal(x[nodes], theirs[index].x)
        assert torch.equal(edges, theirs[index].edge_index)
        assert int(union.y[index]) == int(theirs[index].y)


@pytest.mark.parametrize(("name", "groups"), [("minesweeper", [0, 0, 0]), ("squirrel-filtered", None)])
def test_official_splits_come_with_the_graph_and_minesweeper_is_one_category(name, groups, tmp_path):
    masks = {f"{part}_masks": np.eye(3, 5, k=k, dtype=bool) for k, part in enumerate(("train", "val", "test"))}
    (tmp_path / find(name).folder).mkdir(parents=True)
    np.savez(
        tmp_path / find(name).folder / find(name).files[0],
        node_features=np.eye(5, 3, dtype=np.float32),
        node_labels=np.arange(5) % 2,
        edges=np.array([[0, 1], [1, 2]]),
        **masks,
    )
    data, fixed = readers.read(find(name), tmp_path)
    assert list(fixed) == ["official"]
    assert [mask[:, 2].nonzero().item() for mask in fixed["official"]] == [2, 3, 4]
    assert (data.column_group.tolist() if "column_group" in data else None) == groups


def test_nothing_is_written_beside_the_raw_files(mirror, cache):
    datasets.load("texas", cache, mirror)
    assert not list(cache.rglob("processed"))
