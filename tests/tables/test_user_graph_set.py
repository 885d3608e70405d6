from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import polars as pl
import pytest
import scipy.sparse
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

import girl
from girl.errors import InputError
from girl.tables.user_graph import InputSettings, UserGraph
from girl.tables.user_graph_set import read_user_graphs, user_graphs_of

EDGES = pl.DataFrame(
    {"molecule": ["b", "b", "a", "c"], "source": [1, 2, 1, 1], "target": [2, 3, 2, 2], "bond": ["s", "d", "s", "s"]}
)
NODES = pl.DataFrame(
    {
        "molecule": ["b", "a", "b", "b", "a", "d"],
        "id": [1, 1, 2, 3, 2, 1],
        "charge": [0.5, 1.0, 2.0, 3.0, 4.0, 5.0],
        "toxic": ["no", "yes", "no", None, "yes", "no"],
    }
)
GRAPHS = pl.DataFrame({"molecule": ["d", "z", "b", "a"], "mass": [1.0, 9.0, 2.0, 3.0], "active": [1, 0, 0, 1]})
MOLECULE = InputSettings(graph="molecule")


def parts(graph: UserGraph) -> list[Data]:
    """Each graph of the set on its own."""
    data, found = graph.data, []
    for index in range(data.graphs):
        nodes = data.graph == index
        first, inside = int(nodes.nonzero()[0]), nodes[data.edge_index[0]]
        x = None if data.x is None else data.x[nodes]
        found.append(Data(x=x, edge_index=data.edge_index[:, inside] - first, num_nodes=int(nodes.sum())))
    return found


def shapes(graph: UserGraph) -> dict[object, tuple[int, int]]:
    return {name: (one.num_nodes, one.edge_index.shape[1]) for name, one in zip(graph.ids, parts(graph), strict=True)}


def test_ids_repeat_where_both_tables_know_the_graph():
    graph = user_graphs_of(EDGES, [NODES.drop("toxic")], settings=MOLECULE)
    assert graph.ids.name == "molecule"
    assert graph.is_set
    # As they first appear, those of the node table first; d has no edges, c no rows of nodes.
    assert graph.ids.to_list() == ["b", "a", "d", "c"]
    assert shapes(graph) == {"b": (3, 2), "a": (2, 1), "d": (1, 0), "c": (2, 1)}
    assert graph.encoding.names == ["charge", "only in edges"]
    order = graph.data.x[:, 0][:6].argsort().tolist()
    assert order == [0, 3, 1, 2, 4, 5]  # charges of b: 0.5, 2, 3, of a: 1, 4, of d: 5
    assert graph.counts["graphs"] == 4
    assert graph.counts["nodes in a graph"] == "1 to 3, 2.0 on average"
    assert "components" not in graph.counts


def test_names_with_strokes_stay_apart():
    edges = pl.DataFrame({"g": ["a/b", "a", "a\\", "a\\"], "u": ["c", "b/c", "/x", "x"], "v": ["d", "d", "d", "d"]})
    graph = user_graphs_of(edges, settings=InputSettings(graph="g"))
    assert shapes(graph) == {"a/b": (2, 1), "a": (2, 1), "a\\": (3, 2)}


def test_a_table_of_graphs_gives_the_order_and_the_label():
    graph = user_graphs_of(EDGES, [NODES], GRAPHS, InputSettings(graph="molecule", label="active", ignore=("toxic",)))
    assert graph.ids.to_list() == ["d", "b", "a", "c"]
    assert graph.table["active"].to_list() == [1, 0, 1, None]
    assert graph.table.columns == ["molecule", "mass", "active"]
    assert graph.counts["graphs not in it"] == 1
    assert "1 graph has no nodes and is left out: z." in graph.notes
    with pytest.raises(InputError, match="graphs: has no row for the graph 'c'"):
        user_graphs_of(
            EDGES.filter(pl.col("molecule") != "d"), (), GRAPHS, InputSettings(graph="molecule", strict=True)
        )


def test_a_label_of_nodes_is_that_of_their_graph():
    graph = user_graphs_of(EDGES, [NODES], settings=InputSettings(graph="molecule", label="toxic"))
    assert graph.table.to_dict(as_series=False) == {
        "molecule": ["b", "a", "d", "c"],
        "toxic": ["no", "yes", "no", None],
    }
    assert graph.encoding.columns == ["charge"]
    mixed = NODES.with_columns(toxic=pl.Series(["no", "yes", "no", "yes", "yes", "no"]))
    with pytest.raises(InputError, match="nodes: row 4, column 'toxic': given 'yes' where another node of the same"):
        user_graphs_of(EDGES, [mixed], settings=InputSettings(graph="molecule", label="toxic"))


def test_a_label_in_both_tables_is_never_a_feature():
    graphs = pl.DataFrame({"molecule": ["a", "b"], "toxic": ["x", "y"]})
    graph = user_graphs_of(EDGES, [NODES], graphs, InputSettings(graph="molecule", label="toxic"))
    assert graph.table["toxic"].to_list() == ["x", "y", None, None]
    assert graph.encoding.columns == ["charge"]


def test_ids_are_of_one_graph_each_where_only_nodes_know_it():
    edges = pl.DataFrame({"source": [1, 2, 4], "target": [2, 3, 5]})
    nodes = pl.DataFrame({"molecule": [7, 7, 7, 5, 5, 6], "id": [1, 2, 3, 4, 5, 6], "q": [1.0, 2, 3, 4, 5, 6]})
    graph = user_graphs_of(edges, [nodes], settings=MOLECULE)
    assert graph.ids.to_list() == [7, 5, 6]
    assert shapes(graph) == {7: (3, 2), 5: (2, 1), 6: (1, 0)}
    assert graph.encoding.columns == ["q"]
    across = pl.DataFrame({"source": [1, 3], "target": [2, 4]})
    with pytest.raises(
        InputError, match=r"edges: row 2, column 'target': joins two graphs .*3 is of the graph 7, 4 is"
    ):
        user_graphs_of(across, [nodes], settings=MOLECULE)
    unknown = pl.DataFrame({"source": [1, 99], "target": [2, 1]})
    with pytest.raises(InputError, match="edges: row 2, column 'source': the node 99 has no row that says its graph"):
        user_graphs_of(unknown, [nodes], settings=MOLECULE)


def test_ids_are_of_one_graph_each_where_only_edges_know_it():
    nodes = pl.DataFrame({"id": [1, 2, 3, 4], "q": [1.0, 2, 3, 4]})
    edges = pl.DataFrame({"molecule": ["x", "y"], "source": [3, 1], "target": [4, 2]})
    assert shapes(user_graphs_of(edges, [nodes], settings=MOLECULE)) == {"x": (2, 1), "y": (2, 1)}
    twice = pl.DataFrame({"molecule": ["x", "y"], "source": [3, 1], "target": [4, 3]})
    with pytest.raises(
        InputError, match="edges: row 2, column 'target': the node 3 is of the graph 'y' here, of 'x' in"
    ):
        user_graphs_of(twice, [nodes], settings=MOLECULE)
    with pytest.raises(InputError, match="nodes: row 5, column 'id': the node 5 .*no end of an edge"):
        user_graphs_of(edges, [pl.concat([nodes, pl.DataFrame({"id": [5], "q": [0.0]})])], settings=MOLECULE)


def test_several_tables_of_nodes():
    more = pl.DataFrame({"molecule": ["b", "a"], "id": [1, 2], "size": [3.0, 4.0]})
    graph = user_graphs_of(EDGES, [NODES, more], settings=InputSettings(graph="molecule", label="toxic"))
    assert graph.encoding.columns == ["charge", "size"]
    with pytest.raises(InputError, match=r"nodes\[1\]: has no column 'molecule'"):
        user_graphs_of(EDGES, [NODES, more.drop("molecule")], settings=MOLECULE)
    edges = pl.DataFrame({"u": [1, 2], "v": [2, 3]})
    one, two = pl.DataFrame({"g": [0, 0, 0], "id": [1, 2, 3]}), pl.DataFrame({"g": [0, 1], "id": [3, 2]})
    with pytest.raises(InputError, match=r"nodes\[1\]: row 2, column 'g': given 1, but another table says 0"):
        user_graphs_of(edges, [one, two], settings=InputSettings(graph="g"))


def test_names_of_nodes_within_their_graphs_are_no_features():
    edges = pl.DataFrame({"g": ["a", "a", "b"], "u": [10, 11, 10], "v": [11, 12, 11]})
    nodes = pl.DataFrame(
        {
            "g": ["a"] * 6 + ["b"] * 3,
            "key": [10, 11, 12, 13, 14, 15, 10, 11, 12],
            "atom_id": [*range(6), *range(3)],
            "name": [*"abcdef", *"abc"],
            "kind": [*"xxyyxy", *"xyy"],
        }
    )
    graph = user_graphs_of(edges, [nodes], settings=InputSettings(graph="g"))
    assert graph.ids.to_list() == ["a", "b"]
    assert graph.encoding.columns == ["kind"]
    assert sum("it names the nodes of each graph" in note for note in graph.notes) == 2
    asked = user_graphs_of(edges, [nodes], settings=InputSettings(graph="g", columns=("atom_id",)))
    assert asked.encoding.columns == ["atom_id"]


def test_one_file_may_hold_many_graphs(tmp_path):
    both = nx.disjoint_union(nx.cycle_graph(5), nx.path_graph(3))
    nx.set_node_attributes(both, {node: "ring" if node < 5 else "path" for node in both}, "of")
    nx.write_graphml(both, tmp_path / "both.graphml")
    graph = read_user_graphs(tmp_path / "both.graphml", settings=InputSettings(graph="of"))
    assert shapes(graph) == {"ring": (5, 5), "path": (3, 2)}


def test_directed_sets_keep_their_directions():
    graph = user_graphs_of(
        pl.concat([EDGES, EDGES.rename({"source": "target", "target": "source"}).select(EDGES.columns)]),
        settings=InputSettings(graph="molecule", directed=True),
    )
    assert graph.directed
    assert shapes(graph) == {"b": (3, 4), "a": (2, 2), "c": (2, 2)}


def test_edges_of_other_times_leave_their_graphs_out():
    edges = pl.DataFrame({"g": ["a", "b"], "u": [1, 1], "v": [2, 2], "time": [1, 5]})
    graph = user_graphs_of(edges, settings=InputSettings(graph="g", since="3"))
    assert graph.ids.to_list() == ["b"]
    assert "1 graph has no nodes and is left out: a." in graph.notes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"settings": InputSettings(graph="molecul")}, "edges: has no column 'molecul'; did you mean 'molecule'"),
        ({"settings": InputSettings(graph="molecule", label="activ")}, "graphs: has no column 'activ'; did you mean"),
        ({"settings": InputSettings(graph="molecule", ignore=("molecule",))}, "--graph: 'molecule' is also given"),
        ({"graphs": pl.DataFrame({"m": ["q"]})}, "graphs: no id of column 'm', such as 'q', is a graph, such as 'b'"),
        (
            {"graphs": pl.concat([GRAPHS, GRAPHS])},
            "graphs: row 5, column 'molecule': the id 'd' stands in row 1 already",
        ),
        ({"edges": EDGES.with_columns(molecule=pl.lit(None))}, "edges: row 1, column 'molecule': an id is missing"),
        ({"nodes": [pl.concat([NODES, NODES[:1]])]}, "nodes: row 7, column 'id': the id 'b/1' stands in row 1 already"),
        ({"nodes": [NODES.with_columns(charge=pl.Series(["1", "2", "3", "x", "5", "6"]))]}, "row 4, column 'charge'"),
    ],
)
def test_mistakes_are_named(change, message):
    given = {"edges": EDGES, "nodes": [NODES], "graphs": GRAPHS, "settings": MOLECULE} | change
    with pytest.raises(InputError, match=message):
        user_graphs_of(**given)


def test_a_label_without_a_table():
    with pytest.raises(InputError, match="--label: given 'y', but there is no table of graphs or nodes"):
        user_graphs_of(EDGES, settings=InputSettings(graph="molecule", label="y"))


# Folders.


def molecule(seed: int, ring: bool) -> nx.Graph:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    graph = nx.cycle_graph(n) if ring else nx.path_graph(n)
    for node in graph:
        graph.nodes[node].update(atom="CNO"[int(rng.integers(3))], charge=round(rng.normal(), 3))
    return graph


def write(graphs: dict[str, nx.Graph], folder: Path, kind: str) -> Path:
    folder.mkdir()
    for name, graph in graphs.items():
        path = folder / f"{name}.{kind}"
        match kind:
            case "graphml":
                nx.write_graphml(graph, path)
            case "gml":
                nx.write_gml(graph, path)
            case "csv" | "tsv":
                ends = pl.DataFrame(list(graph.edges), schema=["source", "target"], orient="row")
                ends.write_csv(path, separator="," if kind == "csv" else "\t")
            case "npz":
                scipy.sparse.save_npz(path, nx.to_scipy_sparse_array(graph))
            case "pt":
                charge = torch.tensor([[graph.nodes[i]["charge"], 0.0, 0.0] for i in graph])
                edges = torch.tensor(list(graph.edges)).T
                torch.save(Data(x=charge, edge_index=edges, y=torch.tensor([int(graph.number_of_edges() % 2)])), path)
    return folder


def tables(graphs: dict[str, nx.Graph]) -> tuple[pl.DataFrame, pl.DataFrame]:
    edges = [(name, u, v) for name, graph in graphs.items() for u, v in graph.edges]
    nodes = [(name, i, *graph.nodes[i].values()) for name, graph in graphs.items() for i in graph]
    return (
        pl.DataFrame(edges, schema=["graph", "source", "target"], orient="row"),
        pl.DataFrame(nodes, schema=["graph", "id", "atom", "charge"], orient="row"),
    )


SET = {name: molecule(index, index % 2 == 0) for index, name in enumerate(["m2", "m10", "m1", "x.y"])}


@pytest.mark.parametrize("kind", ["graphml", "gml", "csv", "tsv", "npz", "pt"])
def test_every_file_is_a_graph(kind, tmp_path):
    graph = read_user_graphs(write(SET, tmp_path / "set", kind))
    assert graph.ids.name == "graph"
    assert shapes(graph) == {name: (len(SET[name]), SET[name].number_of_edges()) for name in sorted(SET)}
    assert graph.ids.to_list() == sorted(SET)
    assert graph.counts["folder"] == str(tmp_path / "set")
    known = {"graphml": ["atom", "charge"], "gml": ["atom", "charge"], "pt": ["x"]}.get(kind)
    assert (graph.encoding and graph.encoding.columns) == known
    named = "The column 'label' is left out: it names the nodes of each graph; --columns with its name uses it."
    assert (named in graph.notes) == (kind == "gml")


def test_a_graphs_own_label_is_in_its_file(tmp_path):
    graph = read_user_graphs(write(SET, tmp_path / "set", "pt"), settings=InputSettings(label="y"))
    assert graph.table["y"].to_list() == [SET[name].number_of_edges() % 2 for name in sorted(SET)]


def test_nodes_of_a_folder_in_a_table(tmp_path):
    folder = write(SET, tmp_path / "set", "csv")
    tables(SET)[1].rename({"graph": "file"}).write_csv(tmp_path / "nodes.csv")
    graph = read_user_graphs(folder, [tmp_path / "nodes.csv"], settings=InputSettings(graph="file"))
    assert graph.ids.name == "file"
    assert graph.encoding.columns == ["atom", "charge"]
    with pytest.raises(InputError, match=r"nodes\.csv: given for a folder of graphs.*--graph"):
        read_user_graphs(folder, [tmp_path / "nodes.csv"])
    with pytest.raises(InputError, match=r"nodes\.csv: has no column 'fil'; did you mean 'file'"):
        read_user_graphs(folder, [tmp_path / "nodes.csv"], settings=InputSettings(graph="fil"))
    (folder / "m1.csv").unlink()
    with pytest.raises(InputError, match=r"nodes\.csv: row \d+, column 'file': no file is called 'm1'"):
        read_user_graphs(folder, [tmp_path / "nodes.csv"], settings=InputSettings(graph="file"))


def test_files_of_numbers_need_not_agree_in_what_they_leave_out(tmp_path):
    """A matrix of ones has no column of weights, and a graph without edges no attributes of edges."""
    folder = tmp_path / "set"
    folder.mkdir()
    scipy.sparse.save_npz(folder / "a.npz", scipy.sparse.csr_array(np.array([[0, 1], [1, 0]])))
    scipy.sparse.save_npz(folder / "b.npz", scipy.sparse.csr_array(np.array([[0, 2], [2, 0]])))
    scipy.sparse.save_npz(folder / "c.npz", scipy.sparse.csr_array(np.zeros((3, 3))))
    graph = read_user_graphs(folder)
    assert shapes(graph) == {"a": (2, 1), "b": (2, 1), "c": (3, 0)}
    assert graph.data.edge_weight.tolist() == [1, 2]
    assert any("So it is in 2 of 3 files." in note for note in graph.notes)


def test_sparse_and_dense_matrices_are_read_alike(tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    edges = torch.tensor([[0], [1]])
    torch.save(Data(x=torch.eye(9)[:2], edge_index=edges), folder / "a.pt")
    torch.save(Data(x=torch.ones(2, 9), edge_index=edges), folder / "b.pt")
    assert read_user_graphs(folder).data.x.shape[0] == 4
    torch.save(Data(x=torch.ones(2, 8), edge_index=edges), folder / "c.pt")
    with pytest.raises(InputError, match=r"c\.pt: x has 8 columns, expected 9 as in .*a\.pt"):
        read_user_graphs(folder)


def test_other_files_are_left_out_and_counted(tmp_path):
    folder = write(SET, tmp_path / "set", "csv")
    for name in (".hidden.csv", "notes.md", "picture.png"):
        (folder / name).write_text("nothing")
    (folder / "more").mkdir()
    graph = read_user_graphs(folder)
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
def test_the_file_at_fault_is_named(name, text, message, tmp_path):
    folder = write(SET, tmp_path / "set", "csv")
    (folder / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read_user_graphs(folder)


def test_columns_of_nodes_must_agree(tmp_path):
    folder = write(SET, tmp_path / "set", "graphml")
    bare = nx.path_graph(3)
    nx.set_node_attributes(bare, "C", "atom")
    nx.write_graphml(bare, folder / "z.graphml")
    with pytest.raises(InputError, match=r"z\.graphml \(nodes\): lacks the column 'charge', which .*m1\.graphml"):
        read_user_graphs(folder)
    (folder / "z.graphml").unlink()
    (folder / "z.csv").write_text("source,target\n1,2\n")
    with pytest.raises(InputError, match=r"z\.csv: says nothing about nodes, while .*m1\.graphml has atom, charge"):
        read_user_graphs(folder)


def test_a_graph_that_no_table_says_anything_about(tmp_path):
    folder = write(SET, tmp_path / "set", "graphml")
    nx.write_graphml(nx.empty_graph(3), folder / "z.graphml")
    tables(SET)[1].write_csv(tmp_path / "nodes.csv")
    with pytest.raises(InputError, match=r"z\.graphml: holds a graph without nodes"):
        read_user_graphs(folder, [tmp_path / "nodes.csv"], settings=InputSettings(graph="graph"))
    (folder / "z.graphml").unlink()
    graph = read_user_graphs(folder, [tmp_path / "nodes.csv"], settings=InputSettings(graph="graph"))
    assert any("say about nodes is not used" in note for note in graph.notes)
    with pytest.raises(InputError, match="given as a set of graphs, expected --graph"):
        user_graphs_of(EDGES)


def test_graphs_without_any_edge(tmp_path):
    write({"a": nx.empty_graph(2), "b": nx.empty_graph(3)}, tmp_path / "set", "graphml")
    with pytest.raises(InputError, match="set: none of its graphs has an edge"):
        read_user_graphs(tmp_path / "set")


def test_an_empty_folder(tmp_path):
    with pytest.raises(InputError, match="holds no file of a graph"):
        read_user_graphs(tmp_path)


@given(
    seeds=st.lists(st.integers(0, 10**6), min_size=3, max_size=8, unique=True),
    kind=st.sampled_from(["graphml", "gml"]),
    ending=st.sampled_from([".csv", ".parquet"]),
)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_table_a_folder_and_a_list_of_graphs_are_the_same(seeds, kind, ending, tmp_path_factory):
    here = tmp_path_factory.mktemp("law")
    graphs = {f"g{seed}": molecule(seed, seed % 2 == 0) for seed in sorted(seeds, key=str)}
    folder = write(graphs, here / "set", kind)
    for frame, name in zip(tables(graphs), ("edges", "nodes"), strict=True):
        (frame.write_csv if ending == ".csv" else frame.write_parquet)(here / f"{name}{ending}")
    small = {"hidden": 4, "epochs": 2, "rank": 8, "target_rank": 2, "batch_size": 3}
    options = {"options": small, "structure": "roles"}
    one = girl.embed(folder, settings=InputSettings(ignore=("label",) if kind == "gml" else ()), **options)
    two = girl.embed(here / f"edges{ending}", here / f"nodes{ending}", settings=InputSettings(graph="graph"), **options)
    assert one.ids.to_list() == two.ids.to_list() == sorted(graphs)
    np.testing.assert_array_equal(one.vectors, two.vectors)
    np.testing.assert_array_equal(girl.GIRL(options=small).fit_transform(parts(one.graph)), one.vectors)
