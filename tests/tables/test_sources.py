from __future__ import annotations

import networkx as nx
import numpy as np
import polars as pl
import pytest
import scipy.sparse
import torch
from torch_geometric.data import Data

from girl.errors import InputError
from girl.tables import InputSettings, networkx_tables, read_graph_set
from girl.tables.sources import open_folder, open_graph
from tests.helpers.graph_folders import SET, write

EDGES = pl.DataFrame({"source": [1, 2], "target": [2, 3]})
NODES = pl.DataFrame({"id": [1, 2, 3], "age": [5, 6, 7]})


def test_files_and_frames_open_as_the_same_tables(tmp_path):
    EDGES.write_csv(tmp_path / "edges.csv")
    NODES.write_parquet(tmp_path / "nodes.parquet")
    files = open_graph(str(tmp_path / "edges.csv"), tmp_path / "nodes.parquet", InputSettings())
    frames = open_graph(EDGES, NODES, InputSettings())
    for graph in (files, frames):
        assert graph.edges.read().equals(EDGES)
        assert graph.nodes[0].read().equals(NODES)
    assert (frames.edges.name, frames.nodes[0].name) == ("edges", "nodes")
    assert [table.name for table in open_graph(EDGES, [NODES, NODES], InputSettings()).nodes] == [
        "nodes[0]",
        "nodes[1]",
    ]


def test_node_tables_replace_the_columns_in_the_graph_itself():
    graph = networkx_tables(nx.karate_club_graph())
    assert open_graph(graph, None, InputSettings()) is graph
    replaced = open_graph(graph, NODES, InputSettings())
    assert [table.name for table in replaced.nodes] == ["nodes"]
    assert replaced.id_column is None
    assert replaced.notes == ["The node columns in graph (nodes) are not used, since a node table is given."]


def test_edges_and_nodes_are_both_files_or_both_in_memory(tmp_path):
    with pytest.raises(InputError, match="nodes: given a file for edges in memory, expected tables in memory too"):
        open_graph(EDGES, tmp_path / "nodes.csv", InputSettings())
    with pytest.raises(InputError, match="nodes: given a table in memory for edges in .*csv, expected files too"):
        open_graph(tmp_path / "edges.csv", NODES, InputSettings())


def test_a_folder_is_stacked_in_the_order_of_names(tmp_path):
    folder = open_folder(write(SET, tmp_path / "set", "graphml"))
    assert list(folder.files) == sorted(SET)
    assert folder.edges.graph.unique(maintain_order=True).to_list() == sorted(SET)
    assert folder.nodes[0].graph.to_list() == [name for name in sorted(SET) for _ in SET[name]]
    assert open_folder(tmp_path / "set", read_nodes=False).nodes == ()


def test_numeric_files_may_lack_weights_and_edges(tmp_path):
    """A matrix of ones has no column of weights, and a graph without edges no attributes of edges."""
    folder = tmp_path / "set"
    folder.mkdir()
    scipy.sparse.save_npz(folder / "a.npz", scipy.sparse.csr_array(np.array([[0, 1], [1, 0]])))
    scipy.sparse.save_npz(folder / "b.npz", scipy.sparse.csr_array(np.array([[0, 2], [2, 0]])))
    scipy.sparse.save_npz(folder / "c.npz", scipy.sparse.csr_array(np.zeros((3, 3))))
    graph = read_graph_set(folder)
    assert graph.ids.to_list() == ["a", "b", "c"]
    assert graph.data.graph.bincount().tolist() == [2, 2, 3]
    assert graph.data.graph[graph.data.edge_index].tolist() == [[0, 1], [0, 1]]
    assert graph.data.edge_weight.tolist() == [1, 2]
    assert any("This holds for 2 of 3 files." in note for note in graph.notes)


def test_sparse_and_dense_features_are_stacked(tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    edges = torch.tensor([[0], [1]])
    torch.save(Data(x=torch.eye(9)[:2], edge_index=edges), folder / "a.pt")
    torch.save(Data(x=torch.ones(2, 9), edge_index=edges), folder / "b.pt")
    assert read_graph_set(folder).data.x.shape[0] == 4
    torch.save(Data(x=torch.ones(2, 8), edge_index=edges), folder / "c.pt")
    with pytest.raises(InputError, match=r"c\.pt: x has 8 columns, expected 9 as in .*a\.pt"):
        read_graph_set(folder)


def test_other_files_are_left_out_and_counted(tmp_path):
    folder = write(SET, tmp_path / "set", "csv")
    for name in (".hidden.csv", "notes.md", "picture.png"):
        (folder / name).write_text("nothing")
    (folder / "more").mkdir()
    graph = read_graph_set(folder)
    assert len(graph.ids) == 4
    assert any("4 other files or folders are left out" in note for note in graph.notes)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("z.csv", "", r"z\.csv: is empty"),
        ("z.csv", "source,target\n1,\n", r"z\.csv: row 2, column 'target': an id is missing"),
        ("z.csv", "source,target,kind\n1,2,x\n", r"z\.csv: has the column 'kind', which .*m1\.csv lacks"),
        ("z.csv", "from,to\n1,2\n", r"z\.csv: lacks the column 'source', which .*m1\.csv has"),
        ("z.graphml", "<nothing", r"z\.graphml: cannot be read as \.graphml"),
        ("m1.tsv", "source\ttarget\n1\t2\n", r"m1\.tsv: is called 'm1' as m1\.csv is"),
        ("z.gml", "graph [ ]", r"z\.gml: holds a graph without nodes"),
    ],
)
def test_errors_in_a_folder_name_the_file(name, text, message, tmp_path):
    folder = write(SET, tmp_path / "set", "csv")
    (folder / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read_graph_set(folder)


def test_all_files_of_a_folder_need_the_same_node_columns(tmp_path):
    folder = write(SET, tmp_path / "set", "graphml")
    bare = nx.path_graph(3)
    nx.set_node_attributes(bare, "C", "atom")
    nx.write_graphml(bare, folder / "z.graphml")
    with pytest.raises(InputError, match=r"z\.graphml \(nodes\): lacks the column 'charge', which .*m1\.graphml"):
        read_graph_set(folder)
    (folder / "z.graphml").unlink()
    (folder / "z.csv").write_text("source,target\n1,2\n")
    with pytest.raises(InputError, match=r"z\.csv: has no node columns, while .*m1\.graphml has atom, charge"):
        read_graph_set(folder)


def test_a_folder_of_graphs_without_edges_is_an_error(tmp_path):
    write({"a": nx.empty_graph(2), "b": nx.empty_graph(3)}, tmp_path / "set", "graphml")
    with pytest.raises(InputError, match="set: none of its graphs has an edge"):
        read_graph_set(tmp_path / "set")


def test_an_empty_folder_is_an_error(tmp_path):
    with pytest.raises(InputError, match="holds no file of a graph"):
        read_graph_set(tmp_path)
