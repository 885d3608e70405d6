"""Cells of a table as numbers, times and ids, or the first one that cannot be."""

from __future__ import annotations

import polars as pl

from girl.errors import InputError

#: What people write where a number or a date is missing, in lower case.
MISSING = ("", "na", "n/a", "nan", "nat", "null", "none", "-", "?", ".")

#: How people write dates that can be read in one way only: 03/04/2021 cannot.
DATES = (
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

#: Whole numbers that stay as they are written when they are read as such: not 007, +7 or 7.0.
_WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"

#: Cells that are looked at to tell how dates are written.
_SAMPLE = 1000


class CellError(InputError):
    """One cell cannot be used. Who knows the file says where it stands there."""

    def __init__(self, row: int, column: str, problem: str) -> None:
        super().__init__(f"row {row + 1}, column {column!r}: {problem}")
        self.row, self.column, self.problem = row, column, problem


def words(column: pl.Series) -> pl.Series:
    """The cells as text without blanks around it; null where they say that a value is missing."""
    text = column.cast(pl.String).str.strip_chars()
    return text.set(text.str.to_lowercase().is_in(list(MISSING)).fill_null(False), None)


def numbers(column: pl.Series) -> pl.Series:
    """The cells as float64; null where there is none or no finite one. Raises :class:`CellError`."""
    if column.dtype == pl.Duration:
        found = column.dt.total_microseconds().cast(pl.Float64)
    elif column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null):
        found = column.cast(pl.Float64)
    else:
        text = words(column)
        found = text.cast(pl.Float64, strict=False)
        _check_all(column, text, found, "is not a number")
    return found.set(~found.is_finite().fill_null(True), None)


def number_share(column: pl.Series) -> float:
    """The share of the cells that are numbers, of those that are not missing."""
    text = words(column).drop_nulls()
    return text.cast(pl.Float64, strict=False).count() / max(len(text), 1)


def date_form(column: pl.Series) -> str | None:
    """How the dates of a column of text are written: the form of :data:`DATES` that most cells have, if most do."""
    text = words(column).drop_nulls().head(_SAMPLE)
    counts = {form: _parse(text, form).count() for form in DATES} if len(text) else {}
    best = max(counts, key=lambda form: counts[form], default=None)
    return best if best is not None and counts[best] > len(text) / 2 else None


def times(column: pl.Series, form: str | None = None) -> pl.Series:
    """The cells as times (UTC where they say so), text by its ``form``; null where missing. Raises CellError."""
    if column.dtype == pl.Date:
        return column.cast(pl.Datetime("us"))
    if isinstance(column.dtype, pl.Datetime):
        return _naive(column)
    if column.dtype == pl.Null:
        return column.cast(pl.Datetime("us"))
    text = words(column)
    found = _parse(text, form or DATES[0])
    _check_all(column, text, found, f"is not a date such as {_example(form or DATES[0])}")
    return found


def is_time(column: pl.Series) -> bool:
    """Whether the column holds dates or times by its type."""
    return column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime)


def ids(column: pl.Series) -> pl.Series:
    """A column of a typed table as ids: Int64 or String. Raises :class:`CellError`."""
    kind = column.dtype
    if kind.is_integer():
        narrow = column.cast(pl.Int64, strict=False)
        return narrow if narrow.null_count() == column.null_count() else column.cast(pl.String)
    if kind.is_float():
        # A table with a hole in it turns whole numbers into fractions on its way through some tools.
        whole = column.fill_nan(None)
        narrow = whole.cast(pl.Int64, strict=False)
        return narrow if bool((narrow == whole).all()) else whole.cast(pl.String)
    if kind.is_nested() or kind in (pl.Object, pl.Binary):
        raise CellError(0, column.name, f"given {kind}, expected ids: text or whole numbers; choose another column")
    return column.cast(pl.String)


def written_ids(column: pl.Series) -> pl.Series:
    """Ids from a file of text, as written: Int64 where nothing of it is lost (not 007), else String."""
    text = column.str.strip_chars()
    text = text.set((text == "").fill_null(False), None)
    return text.cast(pl.Int64) if bool(text.str.contains(_WHOLE).all()) else text


def _parse(text: pl.Series, form: str) -> pl.Series:
    return _naive(text.str.to_datetime(form, strict=False, time_unit="us"))


def _naive(column: pl.Series) -> pl.Series:
    zone = getattr(column.dtype, "time_zone", None)
    if zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return column.cast(pl.Datetime("us"))


def _example(form: str) -> str:
    parts = {"%Y": "2021", "%m": "04", "%d": "03", "%H": "12", "%M": "30", "%S": "00", "%.f": "", "%#z": "Z"}
    for part, shown in parts.items():
        form = form.replace(part, shown)
    return form


def _check_all(column: pl.Series, text: pl.Series, found: pl.Series, problem: str) -> None:
    bad = (found.is_null() & text.is_not_null()).arg_true()
    if len(bad):
        raise CellError(bad[0], column.name, f"{shown(column[bad[0]])} {problem}")


def shown(value: object) -> str:
    """A cell for a message: one line, not a long one."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:56]}...{text[0]}"
