from __future__ import annotations

import shutil

import pytest
import torch
from torch_geometric.datasets import Actor, Airports, TUDataset, WebKB

from girl import datasets
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


def test_nothing_is_written_beside_the_raw_files(mirror, cache):
    datasets.load("texas", cache, mirror)
    assert not list(cache.rglob("processed"))
