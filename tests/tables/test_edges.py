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
from girl.tables.edges import edges_of, read_edge_file
from girl.tables.graph_files import graph_tables
from girl.tables.table import Table


def pairs(path: Path, **choices) -> list[tuple]:
    found = edges_of(read_edge_file(path).edges, **choices)
    return list(zip(found.source.to_list(), found.target.to_list(), strict=True))


def written(tmp_path: Path, content: str, name: str = "e.csv") -> Path:
    (tmp_path / name).write_text(content)
    return tmp_path / name


@pytest.mark.parametrize(
    "header",
    [
        "source,target",
        "Target,Source",
        "src,dst",
        "From,To",
        "id_1,id_2",
        "Node 1,Node 2",
        "u,v",
        "numeric_id_1,numeric_id_2",
    ],
)
def test_usual_names_are_known_among_other_columns(tmp_path, header):
    first, second = header.split(",")
    path = written(tmp_path, f"kind,{second},{first}\nx,2,1\ny,4,3\n")
    expected = [(1, 2), (3, 4)] if first != "Target" else [(2, 1), (4, 3)]
    assert pairs(path) == expected


def test_two_columns_of_any_name_and_no_header(tmp_path):
    assert pairs(written(tmp_path, "left_person,right_person\na,b\n")) == [("a", "b")]
    assert pairs(written(tmp_path, "1,2\n3,4\n")) == [(1, 2), (3, 4)]
    path = written(tmp_path, "ann,bob\nbob,eve\n")
    assert pairs(path) == [("ann", "bob"), ("bob", "eve")]
    assert "no header" in read_edge_file(path).notes[0]
    assert pairs(written(tmp_path, "# SNAP\n1\t2\t7\n3\t4\t8\n", "e.txt")) == [(1, 2), (3, 4)]


def test_columns_that_are_asked_for(tmp_path):
    path = written(tmp_path, "x,first,second\n0,a,b\n")
    assert pairs(path, source="first", target="second") == [("a", "b")]
    assert pairs(written(tmp_path, "source,target,to\n1,2,3\n"), source="target", target="to") == [(2, 3)]
    assert pairs(written(tmp_path, "a1,b1\n1,2\n"), source="b1") == [(2, 1)]


def test_weights_and_times(tmp_path):
    path = written(tmp_path, "source,target,Weight,date\n1,2,0.5,2020-01-05\n2,3,2,2020-03-01\n3,4,1,\n")
    found = edges_of(read_edge_file(path).edges)
    assert found.weight.tolist() == [0.5, 2, 1]
    assert any("'Weight' is taken as the weight" in note for note in found.notes)
    assert edges_of(read_edge_file(path).edges, ignore=["Weight"]).weight is None
    found = edges_of(read_edge_file(path).edges, since="2020-02-01")
    assert found.source.to_list() == [2]
    assert found.weight.tolist() == [2]
    assert (found.read, found.row(0), found.span) == (3, 1, ("2020-03-01", "2020-03-01"))
    assert any("1 edges have no time" in note for note in found.notes)
    assert edges_of(read_edge_file(path).edges, until="2020-03-01").source.to_list() == [1]
    whole = edges_of(read_edge_file(path).edges, time="date")
    assert whole.source.to_list() == [1, 2, 3]
    assert whole.span == ("2020-01-05", "2020-03-01")


def test_times_that_are_numbers():
    table = Table.of(pl.DataFrame({"u": [1, 2, 3], "v": [2, 3, 4], "t": [10, 20, 30]}), "edges")
    found = edges_of(table, time="t", since="20", until="30")
    assert found.source.to_list() == [2]
    assert found.span == ("20", "20")
    with pytest.raises(InputError, match="--since: given '2020-01-01', expected a number, as edges has in 't'"):
        edges_of(table, time="t", since="2020-01-01")
    with pytest.raises(InputError, match="no edge has a 't' from 40 to before the end: they are from 10 to 30"):
        edges_of(table, time="t", since="40")


@pytest.mark.parametrize(
    ("content", "choices", "words"),
    [
        ("source,target\n1,2\n,3\n", {}, ("row 3, column 'source': an id is missing",)),
        ("source,target\n1,2\n3,\n", {}, ("row 3, column 'target': an id is missing",)),
        (
            "source,target,weight\n1,2,1\n2,3,x\n",
            {},
            ("row 3, column 'weight': 'x' is not a number", "--ignore weight"),
        ),
        ("source,target,weight\n1,2,0\n", {}, ("row 2, column 'weight': given 0, expected a positive weight",)),
        ("source,target,w\n1,2,-1\n", {"weight": "w"}, ("row 2, column 'w': given -1", "positive")),
        ("source,target,w\n1,2,\n3,4,1\n", {"weight": "w"}, ("row 2, column 'w': is missing",)),
        ("source,target,w\n1,2,inf\n", {"weight": "w"}, ("row 2, column 'w': given inf",)),
        ("source,target\n1,2\n", {"weight": "wieght"}, ("no column 'wieght'", "--weight")),
        ("source,target\n1,2\n", {"source": "sorce"}, ("no column 'sorce'; did you mean 'source'", "--source")),
        ("source,target\n1,2\n", {"target": "tgt"}, ("no column 'tgt'", "--target")),
        ("source,target\n1,2\n", {"time": "when"}, ("no column 'when'", "--time")),
        ("source,target\n1,2\n", {"since": "3"}, ("usual name of a time; give --time",)),
        ("source,target\n1,2\n", {"source": "source", "target": "source"}, ("both the column 'source'",)),
        ("p,q,r\n1,2,3\nx,y,z\n", {}, ("none of p, q, r are usual names", "give --source and --target")),
        ("p,q,r\n1,2,3\nx,y,z\n", {"source": "p"}, ("give --target",)),
        ("p\n1\n", {}, ("has the column p only", "separates")),
        (
            "source,target,date\n1,2,2020-01-01\n2,3,2020-13-01\n3,4,2020-02-02\n",
            {"time": "date"},
            ("row 3", "is not a date such as 2021-04-03"),
        ),
        ("source,target,date\n1,2,2020-01-01\n", {"since": "soon"}, ("--since: given 'soon', expected a date",)),
    ],
)
def test_mistakes_in_edges_name_file_row_and_column(tmp_path, content, choices, words):
    path = written(tmp_path, content)
    with pytest.raises(InputError) as caught:
        pairs(path, **choices)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    for word in words:
        assert word in message


def test_a_sparse_matrix(tmp_path):
    matrix = scipy.sparse.csr_matrix(np.array([[0, 2, 0], [2, 0, 0], [0, 0, 0]]))
    scipy.sparse.save_npz(tmp_path / "a.npz", matrix)
    assert pairs(tmp_path / "a.npz") == [(0, 1)]
    file = read_edge_file(tmp_path / "a.npz", directed=True)
    assert file.edges.read().rows() == [(0, 1, 2.0), (1, 0, 2.0)]
    assert file.nodes.read().rows() == [(0,), (1,), (2,)]


def test_a_torch_geometric_data(tmp_path):
    x = torch.zeros(4, 10)
    x[0, 3] = x[0, 7] = x[2, 7] = 1
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    torch.save(Data(x=x, edge_index=edge_index, y=torch.arange(4)), tmp_path / "d.pt")
    allowed = set(torch.serialization.get_safe_globals())
    file = read_edge_file(tmp_path / "d.pt")
    assert set(torch.serialization.get_safe_globals()) == allowed
    assert file.edges.read().rows() == [(0, 1), (1, 2)]
    assert file.nodes.read()["x"].to_list() == [[3, 7], [], [7], []]
    assert file.labels == ("y",)
    torch.save(Data(x=2 * x, edge_index=edge_index, edge_weight=torch.arange(4) + 1.0), tmp_path / "d.pt")
    file = read_edge_file(tmp_path / "d.pt", directed=True)
    assert file.edges.read()["weight"].to_list() == [1, 2, 3, 4]
    assert file.nodes.read()["x"][2].to_list() == [{"index": 7, "value": 2.0}]
    torch.save({"x": torch.rand(4, 2), "edge_index": edge_index}, tmp_path / "d.pt")
    assert read_edge_file(tmp_path / "d.pt").nodes.read()["x"].dtype == pl.Array(pl.Float32, 2)


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
            read_edge_file(tmp_path / "e.pt")
    (tmp_path / "e.pt").write_bytes(pickle.dumps(evil))
    with pytest.raises(InputError, match="could run code"):
        read_edge_file(tmp_path / "e.pt")
    np.savez(tmp_path / "e.npz", format=np.array([evil], dtype=object))
    with pytest.raises(InputError):
        read_edge_file(tmp_path / "e.npz")
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("name", ["k.graphml", "k.gml", "k.graphml.gz", "k.gml.gz"])
def test_networkx_formats_bring_their_nodes(tmp_path, name):
    graph = nx.DiGraph()
    graph.add_node("a", age=3, label="A")
    graph.add_node("b", age=5, label="B")
    graph.add_edge("a", "b", weight=2.5)
    if "graphml" in name:
        nx.write_graphml(graph, tmp_path / name)
    else:
        nx.write_gml(nx.relabel_nodes(graph, {"a": "A", "b": "B"}), tmp_path / name)
    file = read_edge_file(tmp_path / name)
    ends = ("a", "b") if "graphml" in name else (0, 1)
    assert file.edges.read().rows() == [(*ends, 2.5)]
    assert file.nodes.read()["age"].to_list() == [3, 5]
    assert file.nodes.read()["id"].to_list() == list(ends)
    assert file.directed


def test_attributes_of_any_kind_from_networkx():
    graph = nx.MultiGraph()
    graph.add_node(1, id="x", kind={"a"})
    graph.add_node("two", mixed=3)
    graph.add_edge(1, "two", source="z")
    graph.add_edge(1, "two")
    file = graph_tables(graph)
    assert file.nodes.read()["id"].to_list() == ["1", "two"]
    assert file.nodes.read().columns == ["id", "id (attribute)", "kind", "mixed"]
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
def test_graph_files_that_are_none(tmp_path, name, content, words):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_edge_file(tmp_path / name)
    assert words in str(caught.value)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_matrices_and_data_of_wrong_shape(tmp_path):
    scipy.sparse.save_npz(tmp_path / "a.npz", scipy.sparse.csr_matrix(np.ones((2, 3))))
    with pytest.raises(InputError, match="given a 2 × 3 matrix"):
        read_edge_file(tmp_path / "a.npz")
    scipy.sparse.save_npz(tmp_path / "a.npz", scipy.sparse.csr_matrix(np.ones((2, 2), dtype=complex)))
    with pytest.raises(InputError, match="expected numbers"):
        read_edge_file(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", a=np.ones(2))
    with pytest.raises(InputError, match="holds a, expected a matrix written by"):
        read_edge_file(tmp_path / "a.npz")
    for data, words in (
        (Data(x=torch.ones(2, 2)), "no edge_index"),
        (Data(x=torch.ones(2, 2), edge_index=torch.tensor([[0], [5]])), "names node 5, expected 0 to 1"),
        (torch.ones(3), "holds a Tensor"),
    ):
        torch.save(data, tmp_path / "a.pt")
        with pytest.raises(InputError, match=words):
            read_edge_file(tmp_path / "a.pt")


@pytest.mark.parametrize("name", ["g.txt", "g.csv"])
def test_letters_are_nodes_if_they_come_again(name, tmp_path):
    sign = "," if name.endswith("csv") else " "
    (tmp_path / name).write_text("".join(f"{a}{sign}{b}\n" for a, b in ("ab", "bc", "ca", "dd")))
    file = read_edge_file(tmp_path / name)
    assert file.edges.read().height == 4
    (tmp_path / name).write_text("".join(f"{a}{sign}{b}\n" for a, b in (("u", "v"), ("x", "y"), ("y", "z"))))
    assert read_edge_file(tmp_path / name).edges.read().height == 2
