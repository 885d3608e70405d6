from __future__ import annotations

import polars as pl
import pytest

from girl.errors import InputError
from girl.tables.cells import CellError
from girl.tables.table import Table, stack_tables

FRAME = pl.DataFrame({"id": [3, 1, 2], "age": [1.5, None, 4.0], "name": ["a, b", 'c "d"', "é"]})


def table_of(frame: pl.DataFrame, name: str = "t") -> Table:
    return Table.from_frame(frame, name)


def test_stacked_tables_keep_rows_graphs_and_lines():
    frames = [FRAME, FRAME.with_columns(age=pl.Series([1, 2, 3])), FRAME.clear(), FRAME.with_columns(id=pl.lit("007"))]
    table = stack_tables({f"g{i}": table_of(frame, f"t{i}") for i, frame in enumerate(frames)}, "all")
    assert table.graph.to_list() == ["g0"] * 3 + ["g1"] * 3 + ["g3"] * 3
    assert table.read(["age"])["age"].to_list() == [1.5, None, 4.0, 1.0, 2.0, 3.0, 1.5, None, 4.0]
    assert table.ids("id").to_list() == ["3", "1", "2"] * 2 + ["007"] * 3
    assert str(table.error(4, "age", "is odd")) == "t1: row 2, column 'age': is odd"


def test_stacked_tables_need_the_same_columns_and_types():
    first = table_of(FRAME, "t0")
    with pytest.raises(InputError, match="t1: lacks the column 'age', which t0 has"):
        stack_tables({"a": first, "b": table_of(FRAME.drop("age"), "t1")}, "all")
    with pytest.raises(InputError, match="t1: has the column 'more', which t0 lacks"):
        stack_tables({"a": first, "b": table_of(FRAME.with_columns(more=pl.lit(1)), "t1")}, "all")
    lists = table_of(FRAME.with_columns(age=pl.Series([[1], [2], [3]])), "t9")
    with pytest.raises(InputError, match=r"t9: column 'age': given List\(Int64\), expected Float64 as in t0"):
        stack_tables({"a": first, "b": lists}, "all").read()


def test_a_missing_column_error_suggests_similar_names():
    table = table_of(FRAME)
    assert table.check("age", "--weight") == "age"
    with pytest.raises(InputError, match=r"no column 'Agee'; did you mean 'age'\?; choose one by --weight"):
        table.check("Agee", "--weight")
    with pytest.raises(InputError, match="its columns are id, age, name"):
        table.check("zzzz", "--weight")


def test_ids_are_neither_missing_nor_repeated():
    table = table_of(FRAME.with_columns(id=pl.Series([3, 3, 1])))
    assert table.ids("id").to_list() == [3, 3, 1]
    with pytest.raises(InputError, match="t: row 2, column 'id': the id 3 is in row 1 already"):
        table.unique_ids("id")
    with pytest.raises(InputError, match="t: row 2, column 'age': an id is missing; fill it in or drop the row"):
        table.ids("age")
    with pytest.raises(InputError, match="t: holds no rows"):
        table_of(FRAME.clear()).ids("id")


def test_a_graph_column_is_moved_out_of_the_columns():
    table = table_of(FRAME).with_graph("name")
    assert table.columns == ("id", "age")
    assert table.graph.to_list() == FRAME["name"].to_list()
    assert table.with_graph("age") is table
    assert table_of(FRAME).with_graph("none").graph is None


def test_a_cell_error_gets_the_tables_name_and_line():
    error = table_of(FRAME).located(CellError(1, "age", "is odd"), "; fix it")
    assert str(error) == "t: row 2, column 'age': is odd; fix it"
