from __future__ import annotations

import networkx as nx
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

import girl
from girl.errors import InputError
from girl.tables import InputSettings, UserGraph, read_graph_set
from tests.helpers.graph_folders import SET, molecule, tables, write

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
    data, graphs = graph.data, []
    for index in range(data.graphs):
        nodes = data.graph == index
        first, inside = int(nodes.nonzero()[0]), nodes[data.edge_index[0]]
        x = None if data.x is None else data.x[nodes]
        graphs.append(Data(x=x, edge_index=data.edge_index[:, inside] - first, num_nodes=int(nodes.sum())))
    return graphs


def shapes(graph: UserGraph) -> dict[object, tuple[int, int]]:
    return {name: (one.num_nodes, one.edge_index.shape[1]) for name, one in zip(graph.ids, parts(graph), strict=True)}


def test_ids_may_repeat_if_both_tables_have_the_graph():
    graph = read_graph_set(EDGES, [NODES.drop("toxic")], settings=MOLECULE)
    assert graph.ids.name == "molecule"
    assert graph.is_set
    # As they first appear, those of the node table first; d has no edges, c no rows of nodes.
    assert graph.ids.to_list() == ["b", "a", "d", "c"]
    assert shapes(graph) == {"b": (3, 2), "a": (2, 1), "d": (1, 0), "c": (2, 1)}
    assert graph.encoder.feature_names == ["charge", "only in edges"]
    order = graph.data.x[:, 0][:6].argsort().tolist()
    assert order == [0, 3, 1, 2, 4, 5]  # charges of b: 0.5, 2, 3, of a: 1, 4, of d: 5
    assert graph.counts["graphs"] == 4
    assert graph.counts["nodes in a graph"] == "1 to 3, 2.0 on average"
    assert "components" not in graph.counts


def test_graph_names_with_slashes_stay_distinct():
    edges = pl.DataFrame({"g": ["a/b", "a", "a\\", "a\\"], "u": ["c", "b/c", "/x", "x"], "v": ["d", "d", "d", "d"]})
    graph = read_graph_set(edges, settings=InputSettings(graph="g"))
    assert shapes(graph) == {"a/b": (2, 1), "a": (2, 1), "a\\": (3, 2)}


def test_a_table_of_graphs_gives_the_order_and_the_label():
    graph = read_graph_set(EDGES, [NODES], GRAPHS, InputSettings(graph="molecule", label="active", ignore=("toxic",)))
    assert graph.ids.to_list() == ["d", "b", "a", "c"]
    assert graph.table["active"].to_list() == [1, 0, 1, None]
    assert graph.table.columns == ["molecule", "mass", "active"]
    assert graph.counts["graphs not in it"] == 1
    assert "1 graph has no nodes and is left out: z." in graph.notes
    with pytest.raises(InputError, match="graphs: has no row for the graph 'c'"):
        read_graph_set(
            EDGES.filter(pl.col("molecule") != "d"), (), GRAPHS, InputSettings(graph="molecule", strict=True)
        )


def test_a_label_shared_by_all_nodes_is_the_label_of_their_graph():
    graph = read_graph_set(EDGES, [NODES], settings=InputSettings(graph="molecule", label="toxic"))
    assert graph.table.to_dict(as_series=False) == {
        "molecule": ["b", "a", "d", "c"],
        "toxic": ["no", "yes", "no", None],
    }
    assert graph.encoder.columns == ["charge"]
    mixed = NODES.with_columns(toxic=pl.Series(["no", "yes", "no", "yes", "yes", "no"]))
    with pytest.raises(InputError, match="nodes: row 4, column 'toxic': given 'yes' where another node of the same"):
        read_graph_set(EDGES, [mixed], settings=InputSettings(graph="molecule", label="toxic"))


def test_a_label_in_both_tables_is_never_a_feature():
    graphs = pl.DataFrame({"molecule": ["a", "b"], "toxic": ["x", "y"]})
    graph = read_graph_set(EDGES, [NODES], graphs, InputSettings(graph="molecule", label="toxic"))
    assert graph.table["toxic"].to_list() == ["x", "y", None, None]
    assert graph.encoder.columns == ["charge"]


def test_each_id_belongs_to_one_graph_if_only_nodes_have_the_column():
    edges = pl.DataFrame({"source": [1, 2, 4], "target": [2, 3, 5]})
    nodes = pl.DataFrame({"molecule": [7, 7, 7, 5, 5, 6], "id": [1, 2, 3, 4, 5, 6], "q": [1.0, 2, 3, 4, 5, 6]})
    graph = read_graph_set(edges, [nodes], settings=MOLECULE)
    assert graph.ids.to_list() == [7, 5, 6]
    assert shapes(graph) == {7: (3, 2), 5: (2, 1), 6: (1, 0)}
    assert graph.encoder.columns == ["q"]
    across = pl.DataFrame({"source": [1, 3], "target": [2, 4]})
    with pytest.raises(
        InputError, match=r"edges: row 2, column 'target': joins two graphs .*3 is in the graph 7, 4 is"
    ):
        read_graph_set(across, [nodes], settings=MOLECULE)
    unknown = pl.DataFrame({"source": [1, 99], "target": [2, 1]})
    with pytest.raises(InputError, match="edges: row 2, column 'source': the node 99 has no row with its graph"):
        read_graph_set(unknown, [nodes], settings=MOLECULE)


def test_each_id_belongs_to_one_graph_if_only_edges_have_the_column():
    nodes = pl.DataFrame({"id": [1, 2, 3, 4], "q": [1.0, 2, 3, 4]})
    edges = pl.DataFrame({"molecule": ["x", "y"], "source": [3, 1], "target": [4, 2]})
    assert shapes(read_graph_set(edges, [nodes], settings=MOLECULE)) == {"x": (2, 1), "y": (2, 1)}
    twice = pl.DataFrame({"molecule": ["x", "y"], "source": [3, 1], "target": [4, 3]})
    with pytest.raises(
        InputError, match="edges: row 2, column 'target': the node 3 is in the graph 'y' here, in 'x' in"
    ):
        read_graph_set(twice, [nodes], settings=MOLECULE)
    with pytest.raises(InputError, match="nodes: row 5, column 'id': the node 5 .*no end of an edge"):
        read_graph_set(edges, [pl.concat([nodes, pl.DataFrame({"id": [5], "q": [0.0]})])], settings=MOLECULE)


def test_several_node_tables_are_joined():
    more = pl.DataFrame({"molecule": ["b", "a"], "id": [1, 2], "size": [3.0, 4.0]})
    graph = read_graph_set(EDGES, [NODES, more], settings=InputSettings(graph="molecule", label="toxic"))
    assert graph.encoder.columns == ["charge", "size"]
    with pytest.raises(InputError, match=r"nodes\[1\]: has no column 'molecule'"):
        read_graph_set(EDGES, [NODES, more.drop("molecule")], settings=MOLECULE)
    edges = pl.DataFrame({"u": [1, 2], "v": [2, 3]})
    one, two = pl.DataFrame({"g": [0, 0, 0], "id": [1, 2, 3]}), pl.DataFrame({"g": [0, 1], "id": [3, 2]})
    with pytest.raises(InputError, match=r"nodes\[1\]: row 2, column 'g': given 1, but another table has 0"):
        read_graph_set(edges, [one, two], settings=InputSettings(graph="g"))


def test_columns_that_name_the_nodes_of_each_graph_are_no_features():
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
    graph = read_graph_set(edges, [nodes], settings=InputSettings(graph="g"))
    assert graph.ids.to_list() == ["a", "b"]
    assert graph.encoder.columns == ["kind"]
    assert sum("it names the nodes of each graph" in note for note in graph.notes) == 2
    asked = read_graph_set(edges, [nodes], settings=InputSettings(graph="g", columns=("atom_id",)))
    assert asked.encoder.columns == ["atom_id"]


def test_one_file_may_hold_many_graphs(tmp_path):
    both = nx.disjoint_union(nx.cycle_graph(5), nx.path_graph(3))
    nx.set_node_attributes(both, {node: "ring" if node < 5 else "path" for node in both}, "of")
    nx.write_graphml(both, tmp_path / "both.graphml")
    graph = read_graph_set(tmp_path / "both.graphml", settings=InputSettings(graph="of"))
    assert shapes(graph) == {"ring": (5, 5), "path": (3, 2)}


def test_directed_sets_keep_their_directions():
    graph = read_graph_set(
        pl.concat([EDGES, EDGES.rename({"source": "target", "target": "source"}).select(EDGES.columns)]),
        settings=InputSettings(graph="molecule", directed=True),
    )
    assert graph.directed
    assert shapes(graph) == {"b": (3, 4), "a": (2, 2), "c": (2, 2)}


def test_graphs_with_no_edge_in_the_period_are_left_out():
    edges = pl.DataFrame({"g": ["a", "b"], "u": [1, 1], "v": [2, 2], "time": [1, 5]})
    graph = read_graph_set(edges, settings=InputSettings(graph="g", since="3"))
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
            "graphs: row 5, column 'molecule': the id 'd' is in row 1 already",
        ),
        ({"edges": EDGES.with_columns(molecule=pl.lit(None))}, "edges: row 1, column 'molecule': an id is missing"),
        ({"nodes": [pl.concat([NODES, NODES[:1]])]}, "nodes: row 7, column 'id': the id 'b/1' is in row 1 already"),
        ({"nodes": [NODES.with_columns(charge=pl.Series(["1", "2", "3", "x", "5", "6"]))]}, "row 4, column 'charge'"),
    ],
)
def test_errors_name_file_and_problem(change, message):
    given = {"edges": EDGES, "nodes": [NODES], "graphs": GRAPHS, "settings": MOLECULE} | change
    with pytest.raises(InputError, match=message):
        read_graph_set(**given)


def test_a_label_needs_a_table():
    with pytest.raises(InputError, match="--label: given 'y', but there is no table of graphs or nodes"):
        read_graph_set(EDGES, settings=InputSettings(graph="molecule", label="y"))


@pytest.mark.parametrize("kind", ["graphml", "gml", "csv", "tsv", "npz", "pt"])
def test_every_file_is_a_graph(kind, tmp_path):
    graph = read_graph_set(write(SET, tmp_path / "set", kind))
    assert graph.ids.name == "graph"
    assert shapes(graph) == {name: (len(SET[name]), SET[name].number_of_edges()) for name in sorted(SET)}
    assert graph.ids.to_list() == sorted(SET)
    assert graph.counts["folder"] == str(tmp_path / "set")
    columns = {"graphml": ["atom", "charge"], "gml": ["atom", "charge"], "pt": ["x"]}.get(kind)
    assert (graph.encoder and graph.encoder.columns) == columns
    named = "The column 'label' is left out: it names the nodes of each graph; --columns with its name uses it."
    assert (named in graph.notes) == (kind == "gml")


def test_a_label_of_a_graph_is_read_from_its_file(tmp_path):
    graph = read_graph_set(write(SET, tmp_path / "set", "pt"), settings=InputSettings(label="y"))
    assert graph.table["y"].to_list() == [SET[name].number_of_edges() % 2 for name in sorted(SET)]


def test_a_node_table_names_the_files_of_a_folder(tmp_path):
    folder = write(SET, tmp_path / "set", "csv")
    tables(SET)[1].rename({"graph": "file"}).write_csv(tmp_path / "nodes.csv")
    graph = read_graph_set(folder, [tmp_path / "nodes.csv"], settings=InputSettings(graph="file"))
    assert graph.ids.name == "file"
    assert graph.encoder.columns == ["atom", "charge"]
    with pytest.raises(InputError, match=r"nodes\.csv: given for a folder of graphs.*--graph"):
        read_graph_set(folder, [tmp_path / "nodes.csv"])
    with pytest.raises(InputError, match=r"nodes\.csv: has no column 'fil'; did you mean 'file'"):
        read_graph_set(folder, [tmp_path / "nodes.csv"], settings=InputSettings(graph="fil"))
    (folder / "m1.csv").unlink()
    with pytest.raises(InputError, match=r"nodes\.csv: row \d+, column 'file': no file is called 'm1'"):
        read_graph_set(folder, [tmp_path / "nodes.csv"], settings=InputSettings(graph="file"))


def test_a_graph_without_edges_or_rows_in_the_node_table_is_an_error(tmp_path):
    folder = write(SET, tmp_path / "set", "graphml")
    nx.write_graphml(nx.empty_graph(3), folder / "z.graphml")
    tables(SET)[1].write_csv(tmp_path / "nodes.csv")
    with pytest.raises(InputError, match=r"z\.graphml: holds a graph without nodes"):
        read_graph_set(folder, [tmp_path / "nodes.csv"], settings=InputSettings(graph="graph"))
    (folder / "z.graphml").unlink()
    graph = read_graph_set(folder, [tmp_path / "nodes.csv"], settings=InputSettings(graph="graph"))
    assert any("node columns in the files of" in note for note in graph.notes)
    with pytest.raises(InputError, match="given as a set of graphs, expected --graph"):
        read_graph_set(EDGES)


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
    np.testing.assert_array_equal(girl.GIRL(**small).fit_transform(parts(one.graph)), one.vectors)
