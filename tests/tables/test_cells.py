from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from girl.errors import InputError
from girl.tables.cells import (
    DATE_FORMATS,
    MISSING,
    CellError,
    guess_date_format,
    is_time,
    mostly_numbers,
    text_to_ids,
    to_ids,
    to_lists,
    to_numbers,
    to_text,
    to_times,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_are_the_same_as_floats_and_as_text(values):
    column = pl.Series("n", values, dtype=pl.Float64)
    text = pl.Series("n", [None if value is None else f" {value!r} " for value in values], dtype=pl.String)
    assert to_numbers(column).to_list() == to_numbers(text).to_list() == values


def test_missing_and_infinite_numbers_are_null():
    assert to_numbers(pl.Series([1.0, float("nan"), float("inf"), None])).to_list() == [1.0, None, None, None]
    assert to_numbers(pl.Series([*MISSING, "inf", "2"])).to_list() == [None] * (len(MISSING) + 1) + [2.0]
    assert to_numbers(pl.Series([True, None])).to_list() == [1.0, None]
    assert to_numbers(pl.Series([timedelta(seconds=2)])).to_list() == [2e6]


def test_the_first_cell_that_cannot_be_converted_is_named():
    with pytest.raises(CellError, match="row 2, column 'n': 'x' is not a number") as caught:
        to_numbers(pl.Series("n", ["1", "x", "y"]))
    assert (caught.value.row, caught.value.column) == (1, "n")
    with pytest.raises(CellError, match=r"row 1, column 'd': '1\.2\.3' is not a date such as 2021-04-03"):
        to_times(pl.Series("d", ["1.2.3"]))


def test_text_is_stripped_and_missing_words_are_null():
    assert to_text(pl.Series([" a ", "N/A", "", None])).to_list() == ["a", None, None, None]


def test_mostly_numbers_needs_more_than_half():
    assert mostly_numbers(pl.Series(["1", "2", "x", "NA"]))
    assert not mostly_numbers(pl.Series(["1", "x"]))
    assert not mostly_numbers(pl.Series([None], dtype=pl.String))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(DATE_FORMATS), st.lists(st.datetimes(datetime(1000, 1, 1), datetime(2200, 1, 1)), min_size=1))
def test_every_date_format_is_recognized(date_format, times):
    times = [time.replace(second=0, microsecond=0, hour=12 if "%H" in date_format else 0) for time in times]
    times = [time if "%M" in date_format else time.replace(minute=0) for time in times]
    pattern = date_format.replace("%.f", "").replace("%#z", "Z")
    column = pl.Series("d", [time.strftime(pattern) for time in times])
    assert to_times(column, guess_date_format(column)).to_list() == times


def test_times_with_a_zone_become_utc():
    column = pl.Series([datetime(2020, 1, 1, 12, tzinfo=UTC)]).dt.convert_time_zone("Asia/Tokyo")
    assert is_time(column)
    assert to_times(column).to_list() == [datetime(2020, 1, 1, 12)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-(2**62), 2**62), min_size=1))
def test_integer_ids_are_the_same_from_every_type(values):
    values = [value % 10**17 for value in values]
    expected = pl.Series("i", values, dtype=pl.Int64)
    assert to_ids(expected).equals(expected)
    assert text_to_ids(expected.cast(pl.String)).equals(expected)
    small = pl.Series("i", [value % 10**6 for value in values])
    assert to_ids(small.cast(pl.Float64)).equals(small)


def test_ids_that_are_no_plain_integers_stay_text():
    assert text_to_ids(pl.Series(["007", "8 "])).to_list() == ["007", "8"]
    assert text_to_ids(pl.Series(["1", " "])).to_list() == [1, None]
    assert to_ids(pl.Series([1.5, 2.0])).to_list() == ["1.5", "2.0"]
    assert to_ids(pl.Series([2**64 - 1], dtype=pl.UInt64)).to_list() == [str(2**64 - 1)]
    with pytest.raises(CellError, match="expected ids"):
        to_ids(pl.Series("l", [[1]]))


@given(st.lists(st.none() | st.lists(st.integers(-9, 9), max_size=4), min_size=1))
def test_lists_as_json_text_are_the_same_lists(lists):
    column = pl.Series("l", lists, dtype=pl.List(pl.Int64))
    text = pl.Series("l", [None if entry is None else str(entry) for entry in lists], dtype=pl.String)
    assert to_lists(text).to_list() == to_lists(column).to_list() == lists


def test_cells_that_are_no_lists_are_named():
    with pytest.raises(InputError, match="row 2, column 'l': 'x' is not a list"):
        to_lists(pl.Series("l", ["[1]", "x"]))
    with pytest.raises(InputError, match="column 'l': given Int64, expected lists"):
        to_lists(pl.Series("l", [1]))
