"""Tables in text files: the separator, where the rows begin, the columns, and the line number of each row."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TextIO, TypeAlias, cast

import polars as pl

from girl.errors import InputError
from girl.tables.column_names import default_names, simple_name
from girl.tables.messages import first_line

TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".edgelist", ".edges", ".tab")

#: Edge lists that usually have no header, and may have comments anywhere.
_EDGE_LISTS = (".txt", ".edgelist", ".edges")

_COMMENTS = ("#", "%")

#: Rows from which column types are guessed; if a later cell has another type, the file is read as text first.
_SAMPLE = 10_000

#: First bytes of a file; a zero among them shows that it is not text.
_HEAD = 1 << 16

_Schema: TypeAlias = dict[str, type[pl.DataType] | pl.DataType]


@dataclass(frozen=True)
class TextFormat:
    """How a table is written in a text file."""

    columns: tuple[str, ...]
    separator: str
    """One character; empty for any number of blanks."""
    skip_lines: int
    """Lines above the first row: comments, and the header if there is one."""
    has_header: bool
    comments: bool
    """Whether later lines may be comments too."""


def detect_format(path: Path, suffix: str, usual: Collection[str] = (), header: bool | None = None) -> TextFormat:
    """The format of a text file, from its first lines. Arguments as of :func:`~girl.tables.table_files.open_table`."""
    _check_is_text(path)
    above: list[str] = []
    first = second = ""
    with _open_text(path) as file:
        try:
            for line in file:
                if first and line.strip():
                    second = line
                    break
                if not first and line.strip() and not line.startswith(_COMMENTS):
                    first = line
                elif not first:
                    above.append(line)
        except (UnicodeDecodeError, OSError, EOFError) as error:
            raise _read_error(path, error) from error
    if not first:
        raise InputError(f"{path}: holds no rows; give a file with at least one")
    separator = _guess_separator(first, second, suffix)
    cells = _split(first, separator)
    if header is None:
        named = any(simple_name(cell) in usual for cell in cells)
        header = named or not (suffix in _EDGE_LISTS or all(is_number(cell) for cell in cells))
    if header and not second:
        raise InputError(f"{path}: holds a header and no rows; give a file with at least one")
    names = cells if header else _names_in_comment(above, len(cells), usual) or default_names(len(cells))
    names = [name or default for name, default in zip(names, default_names(len(names)), strict=True)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{path}: row {len(above) + 1}: has two columns {twice!r}; rename one")
    return TextFormat(tuple(names), separator, len(above) + header, header, comments=suffix in _EDGE_LISTS)


def read_text(path: Path, form: TextFormat, columns: Sequence[str], typed: bool = True) -> pl.DataFrame:
    """Columns of a text file without its blank rows; all cells as text, unless ``typed``."""
    try:
        if typed and form.separator:
            # Errors: a cell is not of its column's type; the first row is blank or shorter than the header.
            with suppress(pl.exceptions.ComputeError, pl.exceptions.SchemaError):
                sample = _with_types(_scan(path, form, {}).head(_SAMPLE).collect())
                return _scan_columns(path, form, columns, dict(sample.schema))
        text = _read_cells(path, form, columns)
    except MemoryError:
        raise
    except Exception as error:
        if not (form.comments and form.separator in (" ", "\t")):
            raise _read_error(path, error, form) from error
        text = _read_blank_separated(path, form, columns)  # the number of blanks varies
    return _with_types(text) if typed else text


def line_of_row(path: Path, form: TextFormat, row: int) -> int:
    """The line of a row as an editor counts it: from 1, with the header, comments and blank lines."""
    for index, (line, _) in enumerate(_rows(path, form)):
        if index == row:
            return line
    return row + 1 + form.skip_lines


def open_bytes(path: Path) -> IO[bytes]:
    """The file's bytes, decompressed if it is .gz."""
    return cast("IO[bytes]", gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else path.open("rb")


def is_number(cell: str) -> bool:
    """Whether a cell of text is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _scan(path: Path, form: TextFormat, schema: _Schema) -> pl.LazyFrame:
    return pl.scan_csv(
        path,
        separator=form.separator,
        has_header=False,
        skip_lines=form.skip_lines,
        comment_prefix=_COMMENTS[0] if form.comments else None,
        schema={name: schema.get(name, pl.String) for name in form.columns},
        glob=False,
    )


def _scan_columns(path: Path, form: TextFormat, columns: Sequence[str], schema: _Schema) -> pl.DataFrame:
    scan = _scan(path, form, schema)
    frame = scan.select(list(columns)).collect()
    # A blank line is a row of nulls here. Only if there is such a row are all columns read, to tell it from missing
    # values.
    if columns and frame.select(pl.all_horizontal(pl.all().is_null()).any()).item():
        frame = scan.filter(~pl.all_horizontal(pl.all().is_null())).select(list(columns)).collect()
    return frame


def _read_cells(path: Path, form: TextFormat, columns: Sequence[str]) -> pl.DataFrame:
    if not form.separator:
        return _read_blank_separated(path, form, columns)
    try:
        return _scan_columns(path, form, columns, {})
    except pl.exceptions.SchemaError:
        _check_width(path, form)
        width = len(form.columns)
        rows = [(*(cell or None for cell in cells), *[None] * (width - len(cells))) for _, cells in _rows(path, form)]
        return pl.DataFrame(rows, schema=dict.fromkeys(form.columns, pl.String), orient="row").select(list(columns))


def _read_blank_separated(path: Path, form: TextFormat, columns: Sequence[str]) -> pl.DataFrame:
    lines = pl.scan_csv(
        path,
        separator="\x1f",  # no line has this character: each becomes one cell
        quote_char=None,
        has_header=False,
        skip_lines=form.skip_lines,
        schema={"line": pl.String},
        truncate_ragged_lines=True,
        glob=False,
    )
    cells = (
        lines.select(pl.col("line").str.strip_chars().str.replace_all(r"\s+", " "))
        .filter(pl.col("line").is_not_null() & (pl.col("line") != "") & ~pl.col("line").str.starts_with(_COMMENTS[0]))
        .select(pl.col("line").str.splitn(" ", len(form.columns) + 1).alias("cells"))
        .unnest("cells")
        .collect()
    )
    return cells.select(pl.nth(index).alias(name) for index, name in enumerate(form.columns)).select(list(columns))


def _with_types(text: pl.DataFrame) -> pl.DataFrame:
    return text.with_columns(_with_type(column) for column in text)


def _with_type(text: pl.Series) -> pl.Series:
    """The column as integers, floats or booleans if every cell is one, else as text."""
    text = text.str.strip_chars()
    text = text.set((text == "").fill_null(False), None)
    if text.null_count() == len(text):
        return text
    for kind in (pl.Int64, pl.Float64):
        values = text.cast(kind, strict=False)
        if values.null_count() == text.null_count():
            return values
    if bool(text.str.to_lowercase().is_in(["true", "false"]).all()):
        return (text.str.to_lowercase() == "true").alias(text.name)
    return text


def _rows(path: Path, form: TextFormat) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of every row that is not blank."""
    with _open_text(path) as file:
        for _ in range(form.skip_lines):
            next(file, "")
        if not form.separator:
            for number, text in enumerate(file, form.skip_lines + 1):
                if text.strip() and not text.startswith(_COMMENTS[0]):
                    yield number, text.split()
            return
        reader = csv.reader(file, delimiter=form.separator)
        start = 0
        for cells in reader:
            comment = form.comments and cells and cells[0].startswith(_COMMENTS[0])
            if any(cell.strip() for cell in cells) and not comment:
                yield form.skip_lines + start + 1, cells
            start = reader.line_num


def _read_error(path: Path, error: BaseException, form: TextFormat | None = None) -> InputError:
    """Why a file could not be read; all of it is read again to find the line."""
    try:
        if form is not None:
            _check_width(path, form)
    except (InputError, UnicodeDecodeError, OSError, EOFError, csv.Error) as other:
        error = other
    if isinstance(error, InputError):
        return error
    if isinstance(error, UnicodeDecodeError):
        return InputError(f"{path}: row {_undecodable_line(path)}: is not text in UTF-8; save it in that encoding")
    if isinstance(error, (OSError, EOFError)):
        return InputError(f"{path}: is damaged or cut short ({error}); write it again")
    return InputError(f"{path}: cannot be read as a table: {first_line(error)}; check its quotes, or write it again")


def _check_width(path: Path, form: TextFormat) -> None:
    """Raise an error for the first row with more cells than there are columns."""
    for line, cells in _rows(path, form):
        if len(cells) > len(form.columns):
            raise InputError(
                f"{path}: row {line}: has {len(cells)} columns, expected {len(form.columns)} as in the first line; "
                "quote cells that hold the separator, or correct the row"
            )


def _undecodable_line(path: Path) -> int:
    with open_bytes(path) as file:
        content = file.read()
    try:
        content.decode()
    except UnicodeDecodeError as error:
        return content.count(b"\n", 0, error.start) + 1
    return 1


def _check_is_text(path: Path) -> None:
    try:
        with open_bytes(path) as file:
            head = file.read(_HEAD)
    except (OSError, EOFError) as error:
        raise _read_error(path, error) from error
    if b"\0" in head:
        raise InputError(f"{path}: holds bytes that are no text; save it as text in UTF-8, or name it by its format")


def _open_text(path: Path) -> TextIO:
    return io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", newline="")


def _guess_separator(first: str, second: str, suffix: str) -> str:
    if suffix in (".tsv", ".tab"):
        return "\t"
    if suffix == ".csv":
        return next((sign for sign in (",", ";", "\t", "|") if sign in first), ",")
    for sign in ("\t", " "):
        if all(len(line.rstrip("\r\n").split(sign)) == len(line.split()) > 1 for line in (first, second or first)):
            return sign
    return next((sign for sign in (",", ";") if sign in first), "")


def _split(line: str, separator: str) -> list[str]:
    line = line.strip("\r\n")
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator))] if separator else line.split()


def _names_in_comment(above: Sequence[str], width: int, usual: Collection[str]) -> list[str]:
    """Column names from the last comment above the rows, such as SNAP's ``# FromNodeId ToNodeId``."""
    cells = above[-1].lstrip("".join(_COMMENTS)).replace(",", " ").split() if above else []
    return cells if len(cells) == width and any(simple_name(cell) in usual for cell in cells) else []
