from __future__ import annotations

import csv

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from girl.errors import InputError
from girl.tables.text import detect_format, is_number, line_of_row, read_text

CELLS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\r\n#%", exclude_categories=["Cs", "Zs"]), max_size=6
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(CELLS.filter(str.strip), CELLS), min_size=1, max_size=6))
def test_cells_that_python_writes_are_read_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("text") / "t.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([("first", "second"), *rows])
    frame = read_text(path, detect_format(path, ".csv"), ["first", "second"], typed=False)
    assert [(a, b or "") for a, b in frame.rows()] == rows


def test_a_late_cell_of_another_type_makes_only_its_column_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2.5\n" * 11_000 + "x,3\n")
    form = detect_format(path, ".csv")
    assert read_text(path, form, ["a", "b"]).dtypes == [pl.String, pl.Float64]
    assert read_text(path, form, ["b"], typed=False).dtypes == [pl.String]


@pytest.mark.parametrize(
    ("content", "suffix", "separator", "header"),
    [
        ("a,b\n1,2\n", ".csv", ",", True),
        ("a;b\n1;2\n", ".csv", ";", True),
        ("1|2\n3|4\n", ".csv", "|", False),
        ("a b\tc\n1\t2\n", ".tsv", "\t", True),
        ("1 2\n3 4\n", ".txt", " ", False),
        ("1  2\n3 4\n", ".edges", "", False),
        ("x y\n1 2\n", ".txt", " ", False),
        ("# only a comment\nsource target\n1 2\n", ".txt", " ", True),
    ],
)
def test_separator_and_header_are_detected(tmp_path, content, suffix, separator, header):
    path = tmp_path / f"t{suffix}"
    path.write_text(content)
    form = detect_format(path, suffix, usual={"source"})
    assert (form.separator, form.has_header) == (separator, header)
    assert not detect_format(path, suffix, header=False).has_header


def test_the_line_of_a_row_counts_headers_blanks_and_lines_in_quotes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('# note\na,b\n\n1,"x\ny"\n2,z\n')
    form = detect_format(path, ".csv")
    assert [line_of_row(path, form, row) for row in (0, 1)] == [4, 6]


def test_the_first_line_that_is_not_utf8_is_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 20_000 + "3,é\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"row 20002: is not text in UTF-8"):
        read_text(path, detect_format(path, ".csv"), ["a", "b"])


def test_numbers_are_distinguished_from_words():
    assert all(map(is_number, ("1", "-2.5", "1e9", " 3 ", "nan")))
    assert not any(map(is_number, ("", "x", "1,5", "0x10")))
