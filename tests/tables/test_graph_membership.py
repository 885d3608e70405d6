from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from girl.errors import InputError
from girl.tables.edges import select_edges
from girl.tables.graph_membership import (
    codes_of,
    graph_in_ids,
    membership_from_edges,
    membership_from_nodes,
    with_graph_in_ids,
)
from girl.tables.node_table import match_nodes
from girl.tables.settings import InputSettings
from girl.tables.table import Table

NAMES = st.text(st.sampled_from("ab/\\\n"), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=8, unique=True))
def test_ids_with_their_graph_are_unique_and_give_the_graph_back(pairs):
    frame = pl.DataFrame(pairs, schema=["graph", "id"], orient="row")
    ids = with_graph_in_ids(Table.from_frame(frame, "t").with_graph("graph")).ids("id")
    assert ids.n_unique() == len(pairs)
    assert graph_in_ids(ids).to_list() == frame["graph"].to_list()


def test_codes_are_positions_and_minus_1_for_other_names():
    assert codes_of(pl.Series(["b", "z", None, "a"]), pl.Series(["a", "b"])).tolist() == [1, -1, -1, 0]
    assert codes_of(pl.Series([7, 5]), pl.Series(["5", "7"])).tolist() == [1, 0]


def read(edges: dict, nodes: dict):
    edge_table = Table.from_frame(pl.DataFrame(edges), "edges").with_graph("g")
    node_table = Table.from_frame(pl.DataFrame(nodes), "nodes").with_graph("g")
    selected = select_edges(edge_table, InputSettings())
    return match_nodes([node_table], selected, "id"), selected, pl.Series("g", ["a", "b"])


def test_node_tables_and_edges_give_the_same_membership():
    ends = {"source": [1, 4], "target": [2, 3]}
    from_nodes = read(ends, {"id": [1, 2, 3, 4], "g": ["a", "a", "b", "b"]})
    from_edges = read({**ends, "g": ["a", "b"]}, {"id": [1, 2, 3, 4]})
    assert membership_from_nodes(*from_nodes, "g").tolist() == [0, 0, 1, 1]
    assert membership_from_edges(*from_edges, "g").tolist() == [0, 0, 1, 1]


def test_an_edge_between_two_graphs_is_an_error():
    with pytest.raises(InputError, match=r"edges: row 1, column 'target': joins two graphs \(1 such edges\): 1 is in"):
        membership_from_nodes(*read({"source": [1], "target": [2]}, {"id": [1, 2], "g": ["a", "b"]}), "g")
    with pytest.raises(InputError, match="the node 2 is in the graph 'b' here, in 'a' in row 1"):
        membership_from_edges(*read({"source": [1, 2], "target": [2, 3], "g": ["a", "b"]}, {"id": [1, 2, 3]}), "g")


def test_a_node_without_a_graph_is_an_error():
    nodes, edges, graphs = read({"source": [1], "target": [2], "g": ["a"]}, {"id": [1, 2, 3]})
    with pytest.raises(InputError, match=r"nodes: row 3, column 'id': the node 3 \(1 such nodes\): it is no end"):
        membership_from_edges(nodes, edges, graphs, "g")
    with pytest.raises(InputError, match="edges: row 1, column 'source': the node 1 has no row with its graph"):
        membership_from_nodes(replace(nodes, rows=[None]), edges, graphs, "g")
