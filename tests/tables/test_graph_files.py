from __future__ import annotations

import os
import pickle
from pathlib import Path

import networkx as nx
import numpy as np
import polars as pl
import pytest
import scipy.sparse
import torch
from torch_geometric.data import Data

from girl.errors import InputError
from girl.tables.graph_files import feature_column, networkx_tables, open_graph_file


def test_a_sparse_matrix_gives_edges_and_nodes(tmp_path):
    matrix = scipy.sparse.csr_matrix(np.array([[0, 2, 0], [2, 0, 0], [0, 0, 0]]))
    scipy.sparse.save_npz(tmp_path / "a.npz", matrix)
    assert open_graph_file(tmp_path / "a.npz").edges.read().rows() == [(0, 1, 2.0)]
    file = open_graph_file(tmp_path / "a.npz", directed=True)
    assert file.edges.read().rows() == [(0, 1, 2.0), (1, 0, 2.0)]
    assert file.nodes[0].read().rows() == [(0,), (1,), (2,)]


def test_a_torch_geometric_data_gives_edges_features_and_labels(tmp_path):
    x = torch.zeros(4, 10)
    x[0, 3] = x[0, 7] = x[2, 7] = 1
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    torch.save(Data(x=x, edge_index=edge_index, y=torch.arange(4)), tmp_path / "d.pt")
    allowed = set(torch.serialization.get_safe_globals())
    file = open_graph_file(tmp_path / "d.pt")
    assert set(torch.serialization.get_safe_globals()) == allowed
    assert file.edges.read().rows() == [(0, 1), (1, 2)]
    assert file.nodes[0].read()["x"].to_list() == [[3, 7], [], [7], []]
    assert file.labels == ("y",)
    torch.save(Data(x=2 * x, edge_index=edge_index, edge_weight=torch.arange(4) + 1.0), tmp_path / "d.pt")
    file = open_graph_file(tmp_path / "d.pt", directed=True)
    assert file.edges.read()["weight"].to_list() == [1, 2, 3, 4]
    assert file.nodes[0].read()["x"][2].to_list() == [{"index": 7, "value": 2.0}]
    torch.save({"x": torch.rand(4, 2), "edge_index": edge_index}, tmp_path / "d.pt")
    assert open_graph_file(tmp_path / "d.pt").nodes[0].read()["x"].dtype == pl.Array(pl.Float32, 2)


class Evil:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_no_code_in_a_file_is_run(tmp_path):
    """In a tensor's place, beside a Data, and as a bare pickle."""
    evil = Evil(tmp_path / "harm")
    data = Data(edge_index=torch.tensor([[0], [1]]), note=evil)
    for content in ({"edge_index": evil}, data, [evil]):
        torch.save(content, tmp_path / "e.pt")
        with pytest.raises(InputError, match="could run code"):
            open_graph_file(tmp_path / "e.pt")
    (tmp_path / "e.pt").write_bytes(pickle.dumps(evil))
    with pytest.raises(InputError, match="could run code"):
        open_graph_file(tmp_path / "e.pt")
    np.savez(tmp_path / "e.npz", format=np.array([evil], dtype=object))
    with pytest.raises(InputError):
        open_graph_file(tmp_path / "e.npz")
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("name", ["k.graphml", "k.gml", "k.graphml.gz", "k.gml.gz"])
def test_networkx_formats_give_edges_and_node_attributes(tmp_path, name):
    graph = nx.DiGraph()
    graph.add_node("a", age=3, label="A")
    graph.add_node("b", age=5, label="B")
    graph.add_edge("a", "b", weight=2.5)
    if "graphml" in name:
        nx.write_graphml(graph, tmp_path / name)
    else:
        nx.write_gml(nx.relabel_nodes(graph, {"a": "A", "b": "B"}), tmp_path / name)
    file = open_graph_file(tmp_path / name)
    ends = ("a", "b") if "graphml" in name else (0, 1)
    assert file.edges.read().rows() == [(*ends, 2.5)]
    assert file.nodes[0].read()["age"].to_list() == [3, 5]
    assert file.nodes[0].read()["id"].to_list() == list(ends)
    assert file.directed


def test_networkx_attributes_of_any_type_become_columns():
    graph = nx.MultiGraph()
    graph.add_node(1, id="x", kind={"a"})
    graph.add_node("two", mixed=3)
    graph.add_edge(1, "two", source="z")
    graph.add_edge(1, "two")
    file = networkx_tables(graph)
    assert file.nodes[0].read()["id"].to_list() == ["1", "two"]
    assert file.nodes[0].read().columns == ["id", "id (attribute)", "kind", "mixed"]
    assert file.edges.read().rows() == [(1, "two", "z"), (1, "two", None)]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.npz", b"rubbish", "is no .npz file"),
        ("a.pt", b"rubbish", "not a torch_geometric Data"),
        ("a.gml", b"rubbish", "cannot be read as .gml"),
        ("a.graphml", b"rubbish", "cannot be read as .graphml"),
        ("a.npz.gz", b"rubbish", "unpack it first"),
        ("a.gml", b"", "is empty"),
        ("a.xyz", b"1", "expected one of .csv"),
        ("a.csv", None, "no such file"),
    ],
)
def test_unreadable_graph_files_are_one_line_errors(tmp_path, name, content, words):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        open_graph_file(tmp_path / name)
    assert words in str(caught.value)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_matrices_and_data_of_wrong_shape_are_errors(tmp_path):
    scipy.sparse.save_npz(tmp_path / "a.npz", scipy.sparse.csr_matrix(np.ones((2, 3))))
    with pytest.raises(InputError, match="given a 2 × 3 matrix"):
        open_graph_file(tmp_path / "a.npz")
    scipy.sparse.save_npz(tmp_path / "a.npz", scipy.sparse.csr_matrix(np.ones((2, 2), dtype=complex)))
    with pytest.raises(InputError, match="expected numbers"):
        open_graph_file(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", a=np.ones(2))
    with pytest.raises(InputError, match="holds a, expected a matrix written by"):
        open_graph_file(tmp_path / "a.npz")
    for data, words in (
        (Data(x=torch.ones(2, 2)), "no edge_index"),
        (Data(x=torch.ones(2, 2), edge_index=torch.tensor([[0], [5]])), "names node 5, expected 0 to 1"),
        (torch.ones(3), "holds a Tensor"),
    ):
        torch.save(data, tmp_path / "a.pt")
        with pytest.raises(InputError, match=words):
            open_graph_file(tmp_path / "a.pt")


@pytest.mark.parametrize("name", ["g.txt", "g.csv"])
def test_a_first_line_is_an_edge_if_its_names_occur_again(name, tmp_path):
    sign = "," if name.endswith("csv") else " "
    (tmp_path / name).write_text("".join(f"{a}{sign}{b}\n" for a, b in ("ab", "bc", "ca", "dd")))
    file = open_graph_file(tmp_path / name)
    assert file.edges.read().height == 4
    (tmp_path / name).write_text("".join(f"{a}{sign}{b}\n" for a, b in (("u", "v"), ("x", "y"), ("y", "z"))))
    assert open_graph_file(tmp_path / name).edges.read().height == 2


@pytest.mark.parametrize("density", [0.05, 0.9])
@pytest.mark.parametrize("binary", [True, False])
def test_a_feature_column_holds_the_matrix(density, binary):
    rng = np.random.default_rng(0)
    x = torch.from_numpy((rng.random((20, 9)) < density) * (1.0 if binary else rng.normal(size=(20, 9)))).float()
    for matrix in (x, x.to_sparse_csr(), x.to_sparse_coo()):
        column = feature_column("x", matrix)
        back = torch.zeros_like(x)
        for row, cell in enumerate(column.to_list()):
            if isinstance(column.dtype, pl.Array):
                back[row] = torch.tensor(cell)
            for entry in () if isinstance(column.dtype, pl.Array) else cell:
                index, value = (entry, 1.0) if isinstance(entry, int) else (entry["index"], entry["value"])
                back[row, index] = value
        assert torch.equal(back, x)
