from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from girl.errors import InputError
from girl.tables.cells import CellError
from girl.tables.edges import Edges, select_edges
from girl.tables.node_table import match_nodes, to_common_type
from girl.tables.settings import InputSettings
from girl.tables.table import Table


def edges_of(pairs: list[tuple]) -> Edges:
    frame = pl.DataFrame(pairs, schema=["source", "target"], orient="row")
    return select_edges(Table.from_frame(frame, "edges"), InputSettings())


def table_of(**columns) -> Table:
    return Table.from_frame(pl.DataFrame(columns), "nodes")


IDS = st.integers(0, 9) | st.integers(-(2**60), 2**60)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=9), st.booleans(), st.integers(0, 3))
def test_positions_lead_back_to_the_ids(pairs, text, left_out):
    if text:
        pairs = [(f"n{a}", f"n{b}") for a, b in pairs]
    ends = sorted({end for pair in pairs for end in pair})
    listed = ends[left_out:]
    tables = [table_of(id=listed)] if listed else []
    nodes = match_nodes(tables, edges_of(pairs))
    named = [(nodes.ids[int(a)], nodes.ids[int(b)]) for a, b in zip(nodes.source, nodes.target, strict=True)]
    assert named == pairs
    assert nodes.ids.to_list() == listed + ends[: len(ends) - len(listed)]


def test_tables_are_joined_by_id_and_errors_name_the_row_of_their_own_table():
    more = Table.from_frame(pl.DataFrame({"node": [3, 1], "b": [3.0, 1.0]}), "more")
    tables = [table_of(id=[2, 1], a=[20, 10]), more]
    nodes = match_nodes(tables, edges_of([(1, 2), (2, 3)]))
    assert nodes.frame.to_dict(as_series=False) == {"id": [2, 1, None], "a": [20, 10, None], "b": [None, 1.0, 3.0]}
    assert nodes.ids.to_list() == [2, 1, 3]
    assert str(nodes.located(CellError(1, "b", "is odd"))) == "more: row 2, column 'b': is odd"
    with pytest.raises(InputError, match="nodes: has the column 'a', as a table before has"):
        match_nodes([tables[0], tables[0]], edges_of([(1, 2)]))


def test_the_id_column_is_the_one_with_the_ids_of_the_edges():
    edges = edges_of([(10, 20), (20, 30)])
    assert match_nodes([table_of(id=[1, 2, 3], key=[10, 20, 30])], edges).id_columns == ["key"]
    assert match_nodes([table_of(other=[10, 20, 30], id=[30, 20, 10])], edges).id_columns == ["id"]
    assert match_nodes([table_of(other=[10, 20, 30], id=[30, 20, 10])], edges, "other").id_columns == ["other"]
    with pytest.raises(InputError, match="no column has the ids of the edges"):
        match_nodes([table_of(p=[1, 2], q=[3, 4])], edges)
    with pytest.raises(InputError, match="no id of column 'id', such as 1, is an end of an edge in edges, such as 10"):
        match_nodes([table_of(id=[1, 2])], edges)


def test_ids_get_one_type_without_loss():
    integers, text = pl.Series([1, 2]), pl.Series(["1", "2"])
    assert [c.dtype for c in to_common_type([integers, text])] == [pl.Int64] * 2
    assert [c.dtype for c in to_common_type([integers, pl.Series(["01"])])] == [pl.String] * 2
    assert [c.dtype for c in to_common_type([text, integers])] == [pl.String] * 2
    assert np.array_equal(match_nodes([], edges_of([("b", "a")])).source, [1])
