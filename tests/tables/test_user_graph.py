from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import numpy as np
import polars as pl
import pytest
import scipy.sparse
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from girl.errors import InputError
from girl.tables import InputSettings, TableEncoder, UserGraph, networkx_tables, read_graph

EDGES = pl.DataFrame({"source": [10, 30, 20, 20, 40, 77], "target": [20, 10, 10, 20, 30, 10]})
NODES = pl.DataFrame(
    {
        "id": [30, 10, 20, 40, 50],
        "age": [1.0, 2.0, None, 4.0, 9.0],
        "team": ["a", "b", "a", "b", "a"],
        "label": ["x", "y", "x", "y", "x"],
    }
)


def files(tmp_path: Path, edges: str, nodes: str | None = None) -> tuple[Path, Path | None]:
    (tmp_path / "edges.csv").write_text(edges)
    if nodes is None:
        return tmp_path / "edges.csv", None
    (tmp_path / "nodes.csv").write_text(nodes)
    return tmp_path / "edges.csv", tmp_path / "nodes.csv"


def named_edges(graph: UserGraph) -> set[tuple]:
    ids, ends = graph.ids.to_list(), graph.data.edge_index.T.tolist()
    pairs = [(ids[a], ids[b]) for a, b in ends]
    return set(pairs) if graph.directed else {tuple(sorted(pair, key=str)) for pair in pairs}


def dense(x: torch.Tensor) -> np.ndarray:
    return (x.to_dense() if x.layout == torch.sparse_csr else x).numpy()


def test_duplicates_loops_and_missing_nodes_are_counted():
    graph = read_graph(EDGES, NODES, InputSettings(label="label"))
    assert graph.ids.to_list() == [30, 10, 20, 40, 50, 77]
    assert named_edges(graph) == {(10, 20), (10, 30), (30, 40), (10, 77)}
    counts = graph.counts
    assert counts["nodes"] == 6
    assert counts["nodes only in edges"] == 1
    assert counts["nodes only in table"] == 1
    assert counts["direction"] == "edges both ways"
    assert counts["edges read"] == 6
    assert counts["duplicate edges"] == 1
    assert counts["self-loops"] == 1
    assert counts["edges"] == graph.data.edge_index.shape[1] == 4
    assert counts["isolated nodes"] == 1
    assert counts["components"] == 2
    assert counts["largest component"] == 5
    assert counts["missing values filled"] == 1
    assert (counts["number columns"], counts["category columns"]) == (1, 1)
    assert graph.table.height == graph.data.num_nodes == graph.data.x.shape[0] == 6
    assert graph.table["age"].to_list() == [1.0, 2.0, None, 4.0, 9.0, None]
    assert graph.encoder.feature_names == ["age", "age missing", "team = a", "team = b", "only in edges"]
    assert graph.data.edge_weight is None


def test_labels_are_never_features():
    assert all(
        "label" not in name for name in read_graph(EDGES, NODES, InputSettings(label="label")).encoder.feature_names
    )
    with pytest.raises(InputError, match="--label: 'label' is also asked for as a feature"):
        read_graph(EDGES, NODES, InputSettings(label="label", columns=("label",)))


def test_directed_edges_stay_directed_and_duplicate_weights_add_up():
    edges = EDGES.with_columns(weight=pl.Series([1.0, 2.0, 4.0, 8.0, 16.0, 32.0]))
    graph = read_graph(edges, None, InputSettings(directed=True))
    assert named_edges(graph) == {(10, 20), (30, 10), (20, 10), (40, 30), (77, 10)}
    assert graph.counts["duplicate edges"] == 0
    both = read_graph(edges)
    of = dict(zip(map(tuple, both.data.edge_index.T.tolist()), both.data.edge_weight.tolist(), strict=True))
    assert of[0, 1] == 5  # 10-20 and 20-10 are one edge
    assert both.data.edge_weight.dtype == torch.float32
    assert both.counts["weights"] == "weight, 2 to 32"
    assert read_graph(edges, None, InputSettings(ignore=("weight",))).data.edge_weight is None


def test_columns_are_selected_and_those_left_out_are_explained():
    nodes = NODES.with_columns(bio=pl.Series([f"likes many things {k}" for k in range(5)]))
    graph = read_graph(EDGES, nodes, InputSettings(columns=("age",)))
    assert graph.encoder.columns == ["age"]
    assert read_graph(EDGES, nodes, InputSettings(ignore=("age", "label"))).encoder.columns == ["team"]
    noted = read_graph(EDGES, nodes).notes
    assert any("'bio' is left out: text" in note for note in noted)
    words = read_graph(EDGES, nodes, InputSettings(columns=("age",), text=("bio",)))
    assert words.encoder.columns == ["age", "bio"]
    assert words.data.x.layout == torch.sparse_csr


def test_a_graph_without_columns_has_no_features():
    for nodes in (None, NODES.select("id")):
        graph = read_graph(EDGES, nodes)
        assert graph.data.x is None
        assert graph.encoder is None
        assert graph.counts["features"] == 0
        assert graph.table.height == len(graph.ids) == graph.data.num_nodes


def test_ids_of_different_types_are_matched(tmp_path):
    text = read_graph(EDGES.cast(pl.String), NODES)
    assert text.ids.equals(read_graph(EDGES, NODES).ids)
    text = read_graph(EDGES, NODES.with_columns(pl.col("id").cast(pl.String)))
    assert text.ids.to_list() == ["30", "10", "20", "40", "50", "77"]
    mixed = read_graph(pl.DataFrame({"u": [1, 2], "v": ["a", "1"]}))
    assert mixed.ids.to_list() == ["1", "2", "a"]
    assert mixed.counts["edges"] == 2
    paths = files(tmp_path, "source,target\n007,8\n8,9\n", "zip,age\n007,1\n8,2\n")
    assert read_graph(*paths).ids.to_list() == ["007", "8", "9"]
    far = read_graph(pl.DataFrame({"u": [-(2**62), 5], "v": [5, 2**62]}))
    assert far.ids.to_list() == [-(2**62), 5, 2**62]
    assert far.data.edge_index.tolist() == [[0, 1], [1, 2]]


def test_the_id_column_is_found_by_its_content():
    nodes = pl.DataFrame({"id": [901, 902, 903], "views": [5, 5, 7], "new_id": [10, 20, 30]})
    graph = read_graph(EDGES, nodes)
    assert graph.ids.to_list()[:3] == [10, 20, 30]
    assert any("'new_id'" in note for note in graph.notes)
    assert read_graph(EDGES, nodes.rename({"new_id": "anything"})).ids.to_list()[:3] == [10, 20, 30]
    both = pl.DataFrame({"rank": [10, 20, 30, 40], "id": [40, 30, 20, 10]})
    assert read_graph(EDGES, both).ids.to_list()[:4] == [40, 30, 20, 10]
    assert read_graph(EDGES, both, InputSettings(id="rank")).ids.to_list()[:4] == [10, 20, 30, 40]


def test_features_and_targets_in_two_files_are_joined(tmp_path):
    """As the MUSAE graphs of SNAP come."""
    edges, targets = files(tmp_path, "id_1,id_2\n0,1\n1,2\n3,0\n", "id,page,target\n2,x,tv\n0,y,tv\n1,z,news\n")
    (tmp_path / "features.json").write_text(json.dumps({"0": [3, 4], "1": [4], "3": [9]}))
    graph = read_graph(edges, [targets, tmp_path / "features.json"], InputSettings(label="target"))
    assert graph.ids.to_list() == [2, 0, 1, 3]
    assert graph.table["target"].to_list() == ["tv", "tv", "news", None]
    assert graph.table["features"].to_list() == [None, [3, 4], [4], [9]]
    assert graph.encoder.feature_names == ["features 3", "features 4", "features 9", "features missing"]
    with pytest.raises(InputError, match="has the column 'page', as a table before has"):
        read_graph(edges, [targets, targets])
    alone = read_graph(edges, tmp_path / "features.json")
    assert alone.ids.to_list() == [0, 1, 3, 2]
    (tmp_path / "more.csv").write_text("id,age\n1,4\n0,5\n2,x\n3,6\n")
    with pytest.raises(InputError, match=r"more\.csv: row 4, column 'age': 'x' is not a number"):
        read_graph(edges, [targets, tmp_path / "more.csv"])


def test_a_saved_encoder_gives_the_same_features_and_names_differences():
    graph = read_graph(EDGES, NODES, InputSettings(label="label"))
    encoder = TableEncoder.from_dict(json.loads(json.dumps(graph.encoder.to_dict())))
    again = read_graph(EDGES, NODES, InputSettings(label="label"), encoder)
    np.testing.assert_array_equal(dense(again.data.x), dense(graph.data.x))
    assert again.counts == graph.counts
    one = read_graph(EDGES, NODES[:1].with_columns(new=pl.lit(3)), InputSettings(label="label"), encoder)
    np.testing.assert_array_equal(dense(one.data.x)[0], dense(graph.data.x)[0])
    assert any("not used: new" in note for note in one.notes)
    with pytest.raises(InputError, match="nodes: lacks the column 'age', which the model was trained with"):
        read_graph(EDGES, NODES.drop("age"), InputSettings(), encoder)
    with pytest.raises(InputError, match="no node table: lacks the columns 'age', 'team'"):
        read_graph(EDGES, None, InputSettings(), encoder)


@pytest.mark.parametrize(
    ("edges", "nodes", "choices", "words"),
    [
        ("u,v\n1,2\n", "id,age\n1,3\n1,4\n", {}, ("nodes.csv: row 3, column 'id': the id 1 is in row 2 already",)),
        ("u,v\n1,2\n", "id,age\n1,3\n,4\n", {}, ("nodes.csv: row 3, column 'id': an id is missing",)),
        ("u,v\n1,2\n", "id,age\n1,3\n2,x\n3,4\n", {}, ("nodes.csv: row 3, column 'age': 'x' is not", "--ignore age")),
        ("u,v\n1,2\n9,1\n", "id\n1\n2\n", {"strict": True}, ("edges.csv: row 3, column 'u': the node 9", "--strict")),
        ("u,v\n1,2\n", "id,age\n7,3\n8,1\n", {}, ("nodes.csv: no id of column 'id', such as 7", "such as 1", "--id")),
        ("u,v\n1,2\n", "p,q\n7,3\n8,3\n", {}, ("nodes.csv: no column has the ids of the edges", "p, q", "--id")),
        ("u,v\n1,2\n", "id,age\n1,3\n", {"id": "idd"}, ("nodes.csv: has no column 'idd'; did you mean 'id'", "--id")),
        ("u,v\n1,2\n", "id,age\n1,3\n", {"label": "agee"}, ("did you mean 'age'", "--label")),
        ("u,v\n1,2\n", "id,age\n1,3\n", {"columns": ("agee",)}, ("did you mean 'age'", "--columns")),
        ("u,v\n1,2\n", "id,age\n1,3\n", {"text": ("agee",)}, ("did you mean 'age'", "--text")),
        ("u,v\n1,2\n", "id,age\n1,3\n", {"ignore": ("agee",)}, ("did you mean 'age'", "--ignore")),
        ("u,v\n1,2\n", None, {"label": "age"}, ("--label: given 'age', but there is no node table", "--nodes")),
        ("u,v\n1,2\n", "id,age\n,\n", {}, ("nodes.csv: holds no rows",)),
        ("u,v\n", None, {}, ("edges.csv: holds a header and no rows",)),
    ],
)  # fmt: skip
def test_errors_name_file_row_column_and_remedy(tmp_path, edges, nodes, choices, words):
    with pytest.raises(InputError) as caught:
        read_graph(*files(tmp_path, edges, nodes), InputSettings(**choices))
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_strict_errors_name_the_row_of_the_file_when_times_select_edges(tmp_path):
    paths = files(tmp_path, "u,v,time\n9,1,1\n1,2,5\n2,9,6\n", "id\n1\n2\n")
    with pytest.raises(InputError, match="row 4, column 'v': the node 9 is not in"):
        read_graph(*paths, InputSettings(strict=True, since="2"))
    assert read_graph(*paths, InputSettings(strict=True, until="6", since="2")).counts["edges of other times"] == 2


def test_every_format_of_edges_gives_the_same_graph(tmp_path):
    reference = named_edges(read_graph(EDGES))
    proper = EDGES.cast(pl.String)
    graph = nx.Graph([(str(a), str(b)) for a, b in EDGES.rows()])
    EDGES.write_csv(tmp_path / "e.csv")
    EDGES.write_csv(tmp_path / "e.tsv", separator="\t")
    EDGES.write_csv(tmp_path / "e.txt", separator=" ", include_header=False)
    EDGES.write_ndjson(tmp_path / "e.jsonl")
    proper.write_parquet(tmp_path / "e.parquet")
    nx.write_graphml(graph, tmp_path / "e.graphml")
    for name in ("e.csv", "e.tsv", "e.txt", "e.jsonl", "e.parquet", "e.graphml"):
        pairs = named_edges(read_graph(tmp_path / name))
        assert {tuple(sorted(map(int, pair))) for pair in pairs} == reference, name
    places = {10: 0, 20: 1, 30: 2, 40: 3, 77: 4}
    ends = np.array([[places[a], places[b]] for a, b in EDGES.rows()]).T
    renamed = {tuple(sorted((places[a], places[b]))) for a, b in reference}
    matrix = scipy.sparse.coo_matrix((np.ones(6), ends), shape=(6, 6))
    scipy.sparse.save_npz(tmp_path / "e.npz", matrix)
    torch.save(Data(edge_index=torch.from_numpy(ends), num_nodes=6), tmp_path / "e.pt")
    nx.write_gml(nx.Graph(list(map(tuple, ends.T.tolist()))), tmp_path / "e.gml")
    for name in ("e.npz", "e.pt"):
        read = read_graph(tmp_path / name)
        assert named_edges(read) == renamed
        assert read.counts["isolated nodes"] == 1
    assert read_graph(tmp_path / "e.gml").counts["edges"] == 4


def test_attributes_in_a_graph_file_are_features_unless_a_table_is_given(tmp_path):
    graph = nx.karate_club_graph()
    nx.write_graphml(graph.to_directed(), tmp_path / "k.graphml")
    directed = read_graph(tmp_path / "k.graphml", None, InputSettings(label="club"))
    assert directed.counts["edges"] == 78
    assert any("--directed" in note for note in directed.notes)
    pl.DataFrame({"id": range(34), "age": range(34)}).write_csv(tmp_path / "n.csv")
    other = read_graph(tmp_path / "k.graphml", tmp_path / "n.csv")
    assert other.encoder.columns == ["age"]
    assert any("are not used, since a node table is given" in note for note in other.notes)
    memory = read_graph(networkx_tables(graph), None, InputSettings(label="club"))
    assert memory.ids.to_list() == list(range(34))
    assert memory.table["club"].to_list() == [club for _, club in graph.nodes(data="club")]


def test_labels_of_a_torch_geometric_file_are_no_features(tmp_path):
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    torch.save(Data(x=torch.rand(3, 4), edge_index=edge_index, y=torch.tensor([0, 1, 0])), tmp_path / "d.pt")
    graph = read_graph(tmp_path / "d.pt")
    assert graph.encoder.columns == ["x"]
    assert graph.table["y"].to_list() == [0, 1, 0]
    assert any("'y' is left out" in note for note in graph.notes)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([*'12ab,,\n\n\t "#[]{}:', "id", "source,target\n", "-1", "[1, 2]"]), max_size=30))
@example(['[1, 2]"source,target\n[1, 2]'])
@example(['[1, 2]source,target\n[1, 2]"source,target\n[1, 2]'])
def test_random_text_is_a_graph_or_a_one_line_error(tmp_path_factory, parts):
    folder = tmp_path_factory.mktemp("rubbish")
    for suffix in (".csv", ".txt", ".jsonl", ".json"):
        path = folder / f"r{suffix}"
        path.write_text("".join(parts))
        for edges, nodes in ((path, None), (_proper(folder), path)):
            message = ""
            try:
                read_graph(edges, nodes)
            except InputError as error:
                message = str(error)
            assert "\n" not in message


def _proper(folder: Path) -> Path:
    (folder / "edges.csv").write_text("source,target\n1,2\na,2\n")
    return folder / "edges.csv"


PAIRS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=20)


@settings(max_examples=25, deadline=None)
@given(PAIRS, st.randoms(use_true_random=False))
def test_row_order_duplicates_and_names_do_not_change_the_graph(pairs, random):
    """Order of rows is the order of nodes and nothing else; doubled edges are only counted; names are only names."""
    edges = pl.DataFrame(pairs, schema=["source", "target"], orient="row")
    ends = sorted({end for pair in pairs for end in pair})
    nodes = pl.DataFrame({"id": [*ends, 99], "age": [float(end % 4) for end in ends] + [7.0]})
    graph = read_graph(edges, nodes)
    x = dict(zip(graph.ids, dense(graph.data.x), strict=True))
    expected = {tuple(sorted(pair)) for pair in pairs if pair[0] != pair[1]}
    assert named_edges(graph) == {tuple(sorted(pair, key=str)) for pair in expected}

    order = list(range(nodes.height))
    random.shuffle(order)
    rows = list(range(edges.height))
    random.shuffle(rows)
    shuffled = read_graph(edges[rows], nodes[order])
    assert shuffled.ids.to_list() == nodes["id"][order].to_list()
    assert named_edges(shuffled) == named_edges(graph)
    assert shuffled.counts == graph.counts
    for node, row in zip(shuffled.ids, dense(shuffled.data.x), strict=True):
        np.testing.assert_allclose(row, x[node], atol=1e-5)
    assert torch.equal(read_graph(edges[rows], nodes).data.edge_index, graph.data.edge_index)

    doubled = read_graph(pl.concat([edges, edges.select(source="target", target="source")]), nodes)
    assert torch.equal(doubled.data.edge_index, graph.data.edge_index)
    differ = {key for key in graph.counts if graph.counts[key] != doubled.counts[key]}
    assert differ <= {"edges read", "duplicate edges", "self-loops"}

    names = {end: f"n{(7 * end + 3) % 101}" for end in [*ends, 99]}
    renamed = read_graph(
        edges.select(pl.all().replace_strict(names, return_dtype=pl.String)),
        nodes.with_columns(pl.col("id").replace_strict(names, return_dtype=pl.String)),
    )
    assert torch.equal(renamed.data.edge_index, graph.data.edge_index)
    np.testing.assert_array_equal(dense(renamed.data.x), dense(graph.data.x))
    assert renamed.ids.to_list() == [names[node] for node in graph.ids]
