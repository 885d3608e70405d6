from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from girl.errors import InputError
from girl.tables.edges import select_edges
from girl.tables.graph_files import open_graph_file
from girl.tables.settings import InputSettings
from girl.tables.table import Table


def pairs(path: Path, **choices) -> list[tuple]:
    edges = select_edges(open_graph_file(path).edges, InputSettings(**choices))
    return list(zip(edges.source.to_list(), edges.target.to_list(), strict=True))


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
def test_usual_names_of_ends_are_recognized_among_other_columns(tmp_path, header):
    first, second = header.split(",")
    path = written(tmp_path, f"kind,{second},{first}\nx,2,1\ny,4,3\n")
    expected = [(1, 2), (3, 4)] if first != "Target" else [(2, 1), (4, 3)]
    assert pairs(path) == expected


def test_two_columns_are_the_ends_whatever_their_names(tmp_path):
    assert pairs(written(tmp_path, "left_person,right_person\na,b\n")) == [("a", "b")]
    assert pairs(written(tmp_path, "1,2\n3,4\n")) == [(1, 2), (3, 4)]
    path = written(tmp_path, "ann,bob\nbob,eve\n")
    assert pairs(path) == [("ann", "bob"), ("bob", "eve")]
    assert "no header" in open_graph_file(path).notes[0]
    assert pairs(written(tmp_path, "# SNAP\n1\t2\t7\n3\t4\t8\n", "e.txt")) == [(1, 2), (3, 4)]


def test_named_columns_are_used(tmp_path):
    path = written(tmp_path, "x,first,second\n0,a,b\n")
    assert pairs(path, source="first", target="second") == [("a", "b")]
    assert pairs(written(tmp_path, "source,target,to\n1,2,3\n"), source="target", target="to") == [(2, 3)]
    assert pairs(written(tmp_path, "a1,b1\n1,2\n"), source="b1") == [(2, 1)]


def test_weights_and_times_are_read_and_select_edges(tmp_path):
    path = written(tmp_path, "source,target,Weight,date\n1,2,0.5,2020-01-05\n2,3,2,2020-03-01\n3,4,1,\n")
    edges = select_edges(open_graph_file(path).edges, InputSettings())
    assert edges.weight.tolist() == [0.5, 2, 1]
    assert any("'Weight' is taken as the weight" in note for note in edges.notes)
    assert select_edges(open_graph_file(path).edges, InputSettings(ignore=("Weight",))).weight is None
    edges = select_edges(open_graph_file(path).edges, InputSettings(since="2020-02-01"))
    assert edges.source.to_list() == [2]
    assert edges.weight.tolist() == [2]
    assert (edges.num_read, edges.row(0), edges.time_range) == (3, 1, ("2020-03-01", "2020-03-01"))
    assert any("1 edges have no time" in note for note in edges.notes)
    assert select_edges(open_graph_file(path).edges, InputSettings(until="2020-03-01")).source.to_list() == [1]
    timed = select_edges(open_graph_file(path).edges, InputSettings(time="date"))
    assert timed.source.to_list() == [1, 2, 3]
    assert timed.time_range == ("2020-01-05", "2020-03-01")


def test_numeric_times_select_edges():
    table = Table.from_frame(pl.DataFrame({"u": [1, 2, 3], "v": [2, 3, 4], "t": [10, 20, 30]}), "edges")
    edges = select_edges(table, InputSettings(time="t", since="20", until="30"))
    assert edges.source.to_list() == [2]
    assert edges.time_range == ("20", "20")
    with pytest.raises(InputError, match="--since: given '2020-01-01', expected a number, as edges has in 't'"):
        select_edges(table, InputSettings(time="t", since="2020-01-01"))
    with pytest.raises(InputError, match="no edge has a 't' from 40 to before the end: they are from 10 to 30"):
        select_edges(table, InputSettings(time="t", since="40"))


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
def test_errors_in_edges_name_file_row_and_column(tmp_path, content, choices, words):
    path = written(tmp_path, content)
    with pytest.raises(InputError) as caught:
        pairs(path, **choices)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    for word in words:
        assert word in message
