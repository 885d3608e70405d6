from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from girl.errors import InputError
from girl.tables.table_files import open_table

FRAME = pl.DataFrame({"id": [3, 1, 2], "age": [1.5, None, 4.0], "name": ["a, b", 'c "d"', "é"]})


def write(path: Path, frame: pl.DataFrame = FRAME) -> Path:
    suffix = "".join(path.suffixes)
    match suffix.removesuffix(".gz"):
        case ".csv":
            content = frame.write_csv().encode()
        case ".tsv":
            content = frame.write_csv(separator="\t").encode()
        case ".jsonl" | ".ndjson":
            content = frame.write_ndjson().encode()
        case ".json":
            content = json.dumps(frame.to_dicts()).encode()
        case _:
            frame.write_parquet(path)
            return path
    path.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    return path


@pytest.mark.parametrize(
    "name", ["t.csv", "t.tsv", "t.CSV", "t.csv.gz", "t.tsv.gz", "t.jsonl", "t.ndjson.gz", "t.json", "t.parquet"]
)
def test_every_format_gives_the_same_table(tmp_path, name):
    path = tmp_path / name
    write(tmp_path / name.lower()).rename(path)
    table = open_table(path)
    assert table.read().equals(FRAME)
    assert table.read(["age"]).equals(FRAME.select("age"))
    assert table.ids("id").to_list() == [3, 1, 2]
    assert table.ids("name").to_list() == ["a, b", 'c "d"', "é"]


@pytest.mark.parametrize(
    ("name", "content", "columns", "rows"),
    [
        ("semicolon.csv", "a;b\n1;2\n", ["a", "b"], [(1, 2)]),
        ("blanks.csv", "a, b\n1, 2\n", ["a", "b"], [(1, 2)]),
        ("bom.csv", "\ufeffa,b\r\n1,2\r\n", ["a", "b"], [(1, 2)]),
        ("bare.csv", "1,2\n3,4\n", ["column_1", "column_2"], [(1, 2), (3, 4)]),
        ("empty_lines.csv", "a,b\n\n1,2\n\n\n3,\n\n", ["a", "b"], [(1, 2), (3, None)]),
        ("short.csv", "a,b,c\n1,2\n3,4,5\n6\n", ["a", "b", "c"], [(1, 2, None), (3, 4, 5), (6, None, None)]),
        ("unnamed.csv", ",b\n1,2\n", ["column_1", "b"], [(1, 2)]),
        ("comments.csv", '# "a comment\n% and one more\na,b\n1,2\n', ["a", "b"], [(1, 2)]),
        ("snap.txt", "# x\n# FromNodeId\tToNodeId\n1\t2\n# y\n3\t4\n", ["FromNodeId", "ToNodeId"], [(1, 2), (3, 4)]),
        ("spaces.txt", "1 2\n3   4\n  # no\n5\t6 \n", ["column_1", "column_2"], [(1, 2), (3, 4), (5, 6)]),
        ("commas.txt", "1,2\n3,4\n", ["column_1", "column_2"], [(1, 2), (3, 4)]),
        (
            "words.edgelist",
            "a b {}\nc d {}\n",
            ["column_1", "column_2", "column_3"],
            [("a", "b", "{}"), ("c", "d", "{}")],
        ),
        ("named.txt", "source target\na b\n", ["source", "target"], [("a", "b")]),
        ("truth.csv", "a,b\n1,True\n2,false\n", ["a", "b"], [(1, True), (2, False)]),
        ("bag.json", '{"7": [3, 17], "8": []}', ["id", "features"], [(7, [3, 17]), (8, [])]),
        ("rows.json", '{"7": {"a": 1}, "x": {"a": 2}}', ["id", "a"], [("7", 1), ("x", 2)]),
        ("late.jsonl", '{"a": 1}\n\n{"b": "x"}\n', ["a", "b"], [(1, None), (None, "x")]),
    ],
)
def test_text_and_json_variants_are_read(tmp_path, name, content, columns, rows):
    (tmp_path / name).write_text(content, newline="")
    table = open_table(tmp_path / name, usual={"fromnodeid", "source"})
    assert list(table.columns) == columns
    assert table.read().rows() == rows


def test_ids_are_read_as_written(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c\n007, 1,123456789012345678901\n8,2,5\n")
    table = open_table(tmp_path / "t.csv")
    assert table.ids("a").to_list() == ["007", "8"]
    assert table.ids("b").to_list() == [1, 2]
    assert table.ids("c").to_list() == ["123456789012345678901", "5"]
    pl.DataFrame({"a": ["1", "2"], "b": [1.0, 2.0], "c": [[1], [2]]}).write_parquet(tmp_path / "t.parquet")
    typed = open_table(tmp_path / "t.parquet")
    assert typed.ids("a").to_list() == ["1", "2"]
    assert typed.ids("b").to_list() == [1, 2]
    with pytest.raises(InputError, match=r"t\.parquet: column 'c': given List.*expected ids"):
        typed.ids("c")


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("t.csv", 'a,b\n1,"x\ny"\n\n2,z\n', [2, 5]),
        ("t.txt", "# c\n1  2\n# d\n\n3 4\n", [2, 5]),
        ("t.tsv", "# c\na\tb\n1\t2\n3\t4", [3, 4]),
        ("t.jsonl", '{"a": 1}\n\n{"a": 2}\n', [1, 3]),
    ],
)
def test_line_numbers_are_those_of_an_editor(tmp_path, name, content, lines):
    (tmp_path / name).write_text(content)
    table = open_table(tmp_path / name)
    assert [table.line(row) for row in range(table.read().height)] == lines


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("gone.csv", None, ("gone.csv: no such file", ".parquet")),
        ("t.xls", b"1", ("given a .xls file", ".csv")),
        ("bare", b"1", ("given a nameless file",)),
        ("t.csv", b"", ("is empty",)),
        ("t.csv", b"\n\n# x\n", ("holds no rows",)),
        ("t.csv", b"a,b\n", ("a header and no rows",)),
        ("t.csv", b"a,a\n1,2\n", ("row 1: has two columns 'a'",)),
        ("t.csv", b"a,b\n1,2\n3,4,5\n", ("row 3: has 3 columns, expected 2", "quote")),
        ("t.csv", b"a,b\n1,2,3\n", ("row 2: has 3 columns, expected 2",)),
        ("t.csv", "a,b\n1,2\n3,é\n".encode("latin-1"), ("row 3: is not text in UTF-8", "save")),
        ("t.csv", b'a,b\n1,"2\n3,4\n', ("cannot be read as a table", "quotes")),
        ("t.csv", bytes(range(256)) * 9, ("bytes that are no text",)),
        ("t.csv.gz", b"a,b\n1,2\n", ("is damaged or cut short",)),
        ("t.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 9, mtime=0)[:-12], ("is damaged or cut short",)),
        ("t.parquet", b"rubbish", ("cannot be read as .parquet",)),
        ("t.jsonl", b'{"a": 1}\n\n{"a": [}\n', ("row 3: is not JSON",)),
        ("t.jsonl", b'{"a": 1}\n5\n', ("row 2: given '5', expected an object",)),
        ("t.json", b"[1, 2]", ("expected records", "lists of features")),
        ("t.json", b"[]", ("holds no rows",)),
        ("t.json", b"{", ("cannot be read as .json",)),
        ("t.json", b'{"7": [1], "7": [2]}', ("'7' occurs twice",)),
    ],
)
def test_errors_are_one_line_that_names_the_problem(tmp_path, name, content, words):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        open_table(path).read()
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    for word in words:
        assert word in message


def test_folders_similar_names_and_empty_tables_are_errors(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        open_table(tmp_path)
    write(tmp_path / "nodes.csv")
    with pytest.raises(InputError, match=r"no such file; did you mean nodes\.csv"):
        open_table(tmp_path / "node.csv")
    write(tmp_path / "none.parquet", FRAME.clear())
    with pytest.raises(InputError, match="holds no rows"):
        open_table(tmp_path / "none.parquet")


def test_a_stray_quotation_mark_is_named(tmp_path):
    path = tmp_path / "edges.txt"
    path.write_text('[1, 2]"source,target\n[1, 2]')
    table = open_table(path)
    with pytest.raises(InputError, match="a quotation mark within a cell hides the end of its line"):
        [table.ids(column) for column in table.columns]
