from __future__ import annotations

import shutil
import sys

import pytest
import torch
from torch.serialization import add_safe_globals

from girl import datasets
from girl.datasets import raw
from girl.datasets.cache import availability
from girl.errors import InputError
from girl.lab.stand_in import make_stand_in

#: Shares that leave a few thousand nodes at most.
SCALES = {"wikics": 0.05, "ppi": 0.02, "reddit": 0.003, "reddit2": 0.01, "ogbn-arxiv": 0.02, "ogbn-products": 0.001}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("stand-ins")


@pytest.mark.parametrize("name", SCALES)
def test_a_stand_in_loads_as_the_real_one_would_and_says_what_it_is(name, root):
    entry = datasets.describe(name)
    folder = make_stand_in(name, root, scale=SCALES[name])
    first, second = datasets.load(name, root), datasets.load(name, root)
    shutil.rmtree(folder)  # the marker with it
    third = datasets.load(name, root)
    for found in (first, second, third):
        assert found.stand_in
        assert found.title == f"{name} (stand-in)"
        assert torch.equal(found.data.x, first.data.x)
        assert torch.equal(found.data.edge_index, first.data.edge_index)
    nodes = first.data.x.shape[0]
    assert first.data.x.shape[1] == entry.features
    assert nodes == pytest.approx(max(entry.nodes * SCALES[name], 4 * entry.classes), rel=0.05)
    assert first.data.edge_index.max() < nodes
    assert first.data.y.shape == ((nodes, entry.classes) if entry.multilabel else (nodes,))
    masks = first.fixed[entry.protocols[0]]
    assert all(mask.dtype == torch.bool and mask.any(dim=0).all() for mask in masks)
    assert masks[0].shape == (nodes, 20 if name == "wikics" else 1)
    assert not (masks[0] & masks[1] | masks[0] & masks[2] | masks[1] & masks[2]).any()
    assert (first.inductive, first.protocols) == (entry.inductive, entry.protocols)
    assert availability(entry, root, None) == "stand-in"


def test_edges_are_as_many_as_the_scale_says(tmp_path):
    for name, scale in (("wikics", 0.1), ("ogbn-arxiv", 0.02), ("ogbn-products", 0.001)):
        make_stand_in(name, tmp_path, scale=scale)
        edges = datasets.load(name, tmp_path).data.edge_index
        assert edges.shape[1] == pytest.approx(datasets.describe(name).edges * scale, rel=1e-3)


def test_graphs_of_ppi_are_disjoint_and_aligned(tmp_path):
    make_stand_in("ppi", tmp_path, scale=0.02)
    found = datasets.load("ppi", tmp_path)
    source, target = found.data.edge_index
    for mask in found.fixed["public"]:
        assert torch.equal(mask[source], mask[target])
    size = len(found.data.y) // 24
    assert torch.equal(source // size, target // size)


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")  # in ogb
@pytest.mark.parametrize("name", ["ogbn-arxiv", "ogbn-products"])
def test_ogb_reads_the_same_from_a_stand_in(name, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "outdated", None)  # what ogb would ask the network for its newest version with
    from ogb import nodeproppred
    from torch_geometric.data import Data
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage

    make_stand_in(name, tmp_path, scale=0.001)
    ours = datasets.load(name, tmp_path)
    # For good: torch_geometric has allowed some of them itself, and leaving a block would take that back.
    add_safe_globals([Data, DataEdgeAttr, DataTensorAttr, GlobalStorage])
    theirs = nodeproppred.PygNodePropPredDataset(name, str(tmp_path))
    data = theirs[0]
    assert torch.equal(ours.data.edge_index, data.edge_index)
    assert torch.equal(ours.data.x, data.x)
    assert torch.equal(ours.data.y, data.y.view(-1))
    for mask, nodes in zip(ours.fixed["ogb"], theirs.get_idx_split().values(), strict=True):
        assert torch.equal(mask[:, 0].nonzero().view(-1), nodes)


def test_real_data_is_never_overwritten(tmp_path):
    folder = tmp_path / "WikiCS" / "raw"
    folder.mkdir(parents=True)
    (folder / "data.json").write_text("{}")
    with pytest.raises(InputError, match="real wikics is in the cache"):
        make_stand_in("wikics", tmp_path, scale=0.01)
    assert (folder / "data.json").read_text() == "{}"


def test_a_part_of_real_data_is_not_overwritten_and_an_empty_folder_is_none(tmp_path):
    folder = tmp_path / "ogbn_arxiv"
    folder.mkdir()
    make_stand_in("ogbn-arxiv", tmp_path, scale=0.002)
    (folder / "raw" / "edge.csv.gz").unlink()
    make_stand_in("ogbn-arxiv", tmp_path, scale=0.002)  # half a stand-in is no loss
    (folder / "raw" / "edge.csv.gz").unlink()
    (folder / raw.MARKER).unlink()
    with pytest.raises(InputError, match="a part of the real ogbn-arxiv is in the cache"):
        make_stand_in("ogbn-arxiv", tmp_path, scale=0.002)


def test_a_new_stand_in_replaces_the_old_one_and_its_graph(tmp_path):
    loads = []
    for seed in (0, 1, 0):
        make_stand_in("ogbn-arxiv", tmp_path, scale=0.002, seed=seed)
        loads.append(datasets.load("ogbn-arxiv", tmp_path).data.edge_index)
    assert torch.equal(loads[0], loads[2])
    assert not torch.equal(loads[0], loads[1])


def test_a_stand_in_in_a_mirror_stays_one(tmp_path):
    make_stand_in("ogbn-arxiv", tmp_path / "mirror", scale=0.002)
    assert datasets.load("ogbn-arxiv", tmp_path / "cache", tmp_path / "mirror").stand_in


@pytest.mark.parametrize(
    ("name", "scale", "seed", "words"),
    [
        ("cora", 1.0, 0, "cora: has no stand-in"),
        ("wikics", 0.0, 0, "scale: given 0.0"),
        ("wikics", 0.01, -1, "seed: given -1, expected .* at least 0"),
    ],
)
def test_what_cannot_be_made_is_said(name, scale, seed, words, tmp_path):
    with pytest.raises(InputError, match=words):
        make_stand_in(name, tmp_path, scale=scale, seed=seed)


def test_a_damaged_stand_in_is_named(tmp_path):
    folder = make_stand_in("ogbn-arxiv", tmp_path, scale=0.002)
    path = folder / "raw" / "edge.csv.gz"
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(InputError, match="edge.csv.gz.*cut short.*--again"):
        datasets.load("ogbn-arxiv", tmp_path)
