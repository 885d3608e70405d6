"""Columns converted to numbers, times, lists or ids, with an error that names the first cell that cannot be."""

from __future__ import annotations

import json

import polars as pl

from girl.errors import InputError
from girl.tables.messages import shown

#: How people write that a number or a date is missing, in lower case.
MISSING = ("", "na", "n/a", "nan", "nat", "null", "none", "-", "?", ".")

#: Date formats that can be read in one way only, unlike 03/04/2021.
DATE_FORMATS = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%Y%m%d",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f%#z",
    "%Y-%m-%d %H:%M:%S%.f%#z",
    "%Y/%m/%d %H:%M:%S",
    "%d.%m.%Y %H:%M:%S",
)

#: Integers that are written back as they were read: not 007, +7 or 7.0.
_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"

#: Cells that are looked at to guess a date format.
_SAMPLE = 1000


class CellError(InputError):
    """One cell cannot be used. ``row`` counts from 0; :meth:`Table.located` adds the file and its line."""

    def __init__(self, row: int, column: str, problem: str) -> None:
        super().__init__(f"row {row + 1}, column {column!r}: {problem}")
        self.row, self.column, self.problem = row, column, problem


def to_text(column: pl.Series) -> pl.Series:
    """The cells as stripped text; null where a value is missing (see :data:`MISSING`)."""
    text = column.cast(pl.String).str.strip_chars()
    return text.set(text.str.to_lowercase().is_in(list(MISSING)).fill_null(False), None)


def to_numbers(column: pl.Series) -> pl.Series:
    """The cells as float64; null where a number is missing or not finite. Raises :class:`CellError`."""
    if column.dtype == pl.Duration:
        values = column.dt.total_microseconds().cast(pl.Float64)
    elif column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null):
        values = column.cast(pl.Float64)
    else:
        text = to_text(column)
        values = text.cast(pl.Float64, strict=False)
        _check_converted(column, text, values, "is not a number")
    return values.set(~values.is_finite().fill_null(True), None)


def mostly_numbers(column: pl.Series) -> bool:
    """Whether more than half of the cells that are not missing are numbers."""
    text = to_text(column).drop_nulls()
    return text.cast(pl.Float64, strict=False).count() > len(text) / 2


def guess_date_format(column: pl.Series) -> str | None:
    """The format of :data:`DATE_FORMATS` that most cells have, if more than half have it."""
    text = to_text(column).drop_nulls().head(_SAMPLE)
    counts = {form: _parse(text, form).count() for form in DATE_FORMATS} if len(text) else {}
    best = max(counts, key=lambda form: counts[form], default=None)
    return best if best is not None and counts[best] > len(text) / 2 else None


def to_times(column: pl.Series, date_format: str | None = None) -> pl.Series:
    """The cells as times without a zone (in UTC if they have one); null where missing. Raises :class:`CellError`."""
    if is_time(column) or column.dtype == pl.Null:
        return _naive(column)
    text, date_format = to_text(column), date_format or DATE_FORMATS[0]
    values = _parse(text, date_format)
    _check_converted(column, text, values, f"is not a date such as {_example(date_format)}")
    return values


def is_time(column: pl.Series) -> bool:
    """Whether the column's type is a date or a time."""
    return column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime)


def to_lists(column: pl.Series, inner: pl.DataType | None = None) -> pl.Series:
    """A column of lists, also if they are written as JSON text such as [3, 17]; their entries as ``inner``."""
    if column.dtype == pl.String:
        inner = inner or (pl.String() if bool(column.str.contains('"', literal=True).any()) else pl.Int64())
        text = column.str.strip_chars()
        wrong = (~text.str.contains(r"^\[.*\]$")).arg_true().to_list()
        try:
            if not wrong:
                return text.str.json_decode(pl.List(inner))
        except pl.exceptions.PolarsError:
            wrong = [row for row, cell in enumerate(text) if cell is not None and not _is_json_list(cell)] or [0]
        raise CellError(wrong[0], column.name, f"{shown(column[wrong[0]])} is not a list such as [3, 17]")
    if column.dtype == pl.Null:
        return column.cast(pl.List(inner or pl.Int64()))
    if not isinstance(column.dtype, pl.List):
        raise InputError(f"column {column.name!r}: given {column.dtype}, expected lists such as [3, 17]")
    return column if inner is None or isinstance(column.dtype.inner, pl.Struct) else column.cast(pl.List(inner))


def to_ids(column: pl.Series) -> pl.Series:
    """A column of a typed table as ids: Int64 or String. Raises :class:`CellError`."""
    kind = column.dtype
    if kind.is_integer():
        integers = column.cast(pl.Int64, strict=False)
        return integers if integers.null_count() == column.null_count() else column.cast(pl.String)
    if kind.is_float():
        # Some tools turn integers into floats when one is missing.
        floats = column.fill_nan(None)
        integers = floats.cast(pl.Int64, strict=False)
        return integers if bool((integers == floats).all()) else floats.cast(pl.String)
    if kind.is_nested() or kind in (pl.Object, pl.Binary):
        raise CellError(0, column.name, f"given {kind}, expected ids: text or whole numbers; choose another column")
    return column.cast(pl.String)


def text_to_ids(column: pl.Series) -> pl.Series:
    """Ids from a text file, as written: Int64 if that loses nothing (it would for 007), else String."""
    text = column.str.strip_chars()
    text = text.set((text == "").fill_null(False), None)
    return text.cast(pl.Int64) if bool(text.str.contains(_INTEGER).all()) else text


def _is_json_list(cell: str) -> bool:
    try:
        return isinstance(json.loads(cell), list)
    except ValueError:
        return False


def _parse(text: pl.Series, date_format: str) -> pl.Series:
    return _naive(text.str.to_datetime(date_format, strict=False, time_unit="us"))


def _naive(column: pl.Series) -> pl.Series:
    if getattr(column.dtype, "time_zone", None) is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return column.cast(pl.Datetime("us"))


def _example(date_format: str) -> str:
    parts = {"%Y": "2021", "%m": "04", "%d": "03", "%H": "12", "%M": "30", "%S": "00", "%.f": "", "%#z": "Z"}
    for part, example in parts.items():
        date_format = date_format.replace(part, example)
    return date_format


def _check_converted(column: pl.Series, text: pl.Series, values: pl.Series, problem: str) -> None:
    failed = (values.is_null() & text.is_not_null()).arg_true()
    if len(failed):
        raise CellError(failed[0], column.name, f"{shown(column[failed[0]])} {problem}")
