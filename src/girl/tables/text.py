"""Tables as text: which sign parts the columns, where the rows begin, and the line on which each stands."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TextIO, cast

import polars as pl

from girl.errors import InputError

TEXT = (".csv", ".tsv", ".txt", ".edgelist", ".edges", ".tab")

#: Files that are lists of edges by habit, without a header, and with comments anywhere.
_BARE = (".txt", ".edgelist", ".edges")

_COMMENTS = ("#", "%")

#: Rows by which the types of columns are told; one that is of another type further down is read as text first.
_SAMPLE = 10_000

#: Bytes in which a zero shows that a file is no text.
_HEAD = 1 << 16


@dataclass(frozen=True)
class Dialect:
    """How a table is written as text."""

    names: tuple[str, ...]
    separator: str
    """One sign, or nothing: any number of blanks."""
    skip: int
    """Lines above the first row: comments, and the header if there is one."""
    header: bool
    comments: bool
    """Lines further down may be comments too."""


def plain(name: str) -> str:
    """A column's name in small letters and digits: ``Node_1``, ``node 1`` and ``node1`` are one."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def sniff(path: Path, suffix: str, usual: Collection[str] = (), header: bool | None = None) -> Dialect:
    """How the table in ``path`` is written, from its first lines."""
    _check_text(path)
    above: list[str] = []
    first = second = ""
    with _open(path) as file:
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
            raise _unreadable(path, error) from error
    if not first:
        raise InputError(f"{path}: holds no rows; give a file with at least one")
    separator = _separator(first, second, suffix)
    cells = _cells(first, separator)
    if header is None:
        named = any(plain(cell) in usual for cell in cells)
        header = named or not (suffix in _BARE or all(is_number(cell) for cell in cells))
    if header and not second:
        raise InputError(f"{path}: holds a header and no rows; give a file with at least one")
    names = cells if header else _commented(above, len(cells), usual) or made_up_names(len(cells))
    names = [name or made for name, made in zip(names, made_up_names(len(names)), strict=True)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{path}: row {len(above) + 1}: has two columns {twice!r}; rename one")
    return Dialect(tuple(names), separator, len(above) + header, header, comments=suffix in _BARE)


def read_text(path: Path, dialect: Dialect, columns: Sequence[str], typed: bool = True) -> pl.DataFrame:
    """Columns of a table; as text, if not ``typed``. Rows without anything in them are passed over."""
    try:
        if not dialect.separator:
            return _read_blanks(path, dialect, columns, typed)
        try:
            return _read(path, dialect, columns, _schema(path, dialect) if typed else {})
        except pl.exceptions.ComputeError:
            if typed:  # a cell is not of its column's type
                return _typed(_read(path, dialect, columns, {}))
            raise
        except pl.exceptions.SchemaError:  # the first row is blank, or shorter than the header
            cells = _read_slowly(path, dialect, columns)
            return _typed(cells) if typed else cells
    except MemoryError:
        raise
    except Exception as error:
        if dialect.separator in (" ", "\t") and dialect.comments:  # columns set with a varying number of blanks
            return _read_blanks(path, dialect, columns, typed)
        raise _unreadable(path, error, dialect) from error


def text_line(path: Path, dialect: Dialect, row: int) -> int:
    """The line of a row, as an editor shows it: from 1, with the header, comments and blank lines."""
    for index, (line, _) in enumerate(_rows(path, dialect)):
        if index == row:
            return line
    return row + 1 + dialect.skip


def _scan(path: Path, dialect: Dialect, schema: dict[str, type[pl.DataType] | pl.DataType]) -> pl.LazyFrame:
    return pl.scan_csv(
        path,
        separator=dialect.separator,
        has_header=False,
        skip_lines=dialect.skip,
        comment_prefix=_COMMENTS[0] if dialect.comments else None,
        schema={name: schema.get(name, pl.String) for name in dialect.names},
        glob=False,
    )


def _schema(path: Path, dialect: Dialect) -> dict[str, type[pl.DataType] | pl.DataType]:
    head = _scan(path, dialect, {}).head(_SAMPLE).collect()
    return dict(_typed(head).schema)


def _read(
    path: Path, dialect: Dialect, columns: Sequence[str], schema: dict[str, type[pl.DataType] | pl.DataType]
) -> pl.DataFrame:
    scan = _scan(path, dialect, schema)
    found = scan.select(list(columns)).collect()
    # A blank line is a row of nulls here. They are rare: only then are all columns read to tell them from gaps.
    if columns and found.select(pl.all_horizontal(pl.all().is_null()).any()).item():
        found = scan.filter(~pl.all_horizontal(pl.all().is_null())).select(list(columns)).collect()
    return found


def _typed(text: pl.DataFrame) -> pl.DataFrame:
    return text.with_columns(_typed_column(column) for column in text)


def _typed_column(text: pl.Series) -> pl.Series:
    """Whole numbers, numbers or truth values where every cell is one; else the text."""
    text = text.str.strip_chars()
    text = text.set((text == "").fill_null(False), None)
    if text.null_count() == len(text):
        return text
    for kind in (pl.Int64, pl.Float64):
        found = text.cast(kind, strict=False)
        if found.null_count() == text.null_count():
            return found
    if bool(text.str.to_lowercase().is_in(["true", "false"]).all()):
        return (text.str.to_lowercase() == "true").alias(text.name)
    return text


def _read_blanks(path: Path, dialect: Dialect, columns: Sequence[str], typed: bool) -> pl.DataFrame:
    lines = pl.scan_csv(
        path,
        separator="\x1f",  # a sign that no line has: each is one cell
        quote_char=None,
        has_header=False,
        skip_lines=dialect.skip,
        schema={"line": pl.String},
        truncate_ragged_lines=True,
        glob=False,
    )
    cells = (
        lines.select(pl.col("line").str.strip_chars().str.replace_all(r"\s+", " "))
        .filter(pl.col("line").is_not_null() & (pl.col("line") != "") & ~pl.col("line").str.starts_with(_COMMENTS[0]))
        .select(pl.col("line").str.splitn(" ", len(dialect.names) + 1).alias("cells"))
        .unnest("cells")
        .collect()
    )
    cells = cells.select(pl.nth(index).alias(name) for index, name in enumerate(dialect.names)).select(list(columns))
    return _typed(cells) if typed else cells


def _read_slowly(path: Path, dialect: Dialect, columns: Sequence[str]) -> pl.DataFrame:
    if (found := _ragged(path, dialect)) is not None:
        raise found
    width = len(dialect.names)
    rows = [(*(cell or None for cell in cells), *[None] * (width - len(cells))) for _, cells in _rows(path, dialect)]
    return pl.DataFrame(rows, schema=dict.fromkeys(dialect.names, pl.String), orient="row").select(list(columns))


def _rows(path: Path, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Every row that is not blank, with its line."""
    with _open(path) as file:
        for _ in range(dialect.skip):
            next(file, "")
        if not dialect.separator:
            for number, text in enumerate(file, dialect.skip + 1):
                if text.strip() and not text.startswith(_COMMENTS[0]):
                    yield number, text.split()
            return
        reader = csv.reader(file, delimiter=dialect.separator)
        begin = 0
        for cells in reader:
            comment = dialect.comments and cells and cells[0].startswith(_COMMENTS[0])
            if any(cell.strip() for cell in cells) and not comment:
                yield dialect.skip + begin + 1, cells
            begin = reader.line_num


def _unreadable(path: Path, error: BaseException, dialect: Dialect | None = None) -> InputError:
    """What is wrong with a file that could not be read; the file is walked through to find the line."""
    try:
        if dialect is not None and (found := _ragged(path, dialect)) is not None:
            return found
    except (UnicodeDecodeError, OSError, EOFError, csv.Error) as other:
        error = other
    if isinstance(error, UnicodeDecodeError):
        return InputError(f"{path}: row {_undecodable(path)}: is not text in UTF-8; save the file in that encoding")
    if isinstance(error, (OSError, EOFError)):
        return InputError(f"{path}: is damaged or cut short ({error}); write it anew")
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return InputError(f"{path}: cannot be read as a table: {reason}; check its quotes, or write it anew")


def _ragged(path: Path, dialect: Dialect) -> InputError | None:
    for line, cells in _rows(path, dialect):
        if len(cells) > len(dialect.names):
            return InputError(
                f"{path}: row {line}: has {len(cells)} columns, expected {len(dialect.names)} as in the first line; "
                "quote cells that hold the separator, or mend the row"
            )
    return None


def _undecodable(path: Path) -> int:
    """The first line that is not UTF-8."""
    with open_bytes(path) as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return 1


def _check_text(path: Path) -> None:
    try:
        with open_bytes(path) as file:
            head = file.read(_HEAD)
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: is damaged or cut short ({error}); write it anew") from error
    if b"\0" in head:
        raise InputError(f"{path}: holds bytes that are no text; save it as text in UTF-8, or name it by its format")


def open_bytes(path: Path) -> IO[bytes]:
    """The file's bytes, unpacked if it is .gz."""
    return cast("IO[bytes]", gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else path.open("rb")


def _open(path: Path) -> TextIO:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _separator(first: str, second: str, suffix: str) -> str:
    if suffix in (".tsv", ".tab"):
        return "\t"
    if suffix == ".csv":
        return next((sign for sign in (",", ";", "\t", "|") if sign in first), ",")
    for sign in ("\t", " "):
        if all(len(line.rstrip("\r\n").split(sign)) == len(line.split()) > 1 for line in (first, second or first)):
            return sign
    return next((sign for sign in (",", ";") if sign in first), "")


def _cells(line: str, separator: str) -> list[str]:
    line = line.strip("\r\n")
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator))] if separator else line.split()


def _commented(above: Sequence[str], width: int, usual: Collection[str]) -> list[str]:
    """Names from the last comment above the rows, as SNAP's ``# FromNodeId ToNodeId``."""
    cells = above[-1].lstrip("".join(_COMMENTS)).replace(",", " ").split() if above else []
    return cells if len(cells) == width and any(plain(cell) in usual for cell in cells) else []


def made_up_names(width: int) -> list[str]:
    """Names of columns that have none, counted from 1."""
    return [f"column_{index + 1}" for index in range(width)]


def is_number(cell: str) -> bool:
    """Whether a cell of text is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
