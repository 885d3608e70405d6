"""A table in a file, or in memory, that knows where its rows stand: for messages that a person can follow."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from girl.errors import InputError
from girl.tables.text import TEXT, Dialect, open_bytes, read_text, sniff, text_line
from girl.tables.values import CellError, ids, shown, written_ids

SUFFIXES = (*TEXT, ".parquet", ".jsonl", ".ndjson", ".json")

#: Columns that a message lists; a table may have thousands.
_LISTED = 20


@dataclass(frozen=True)
class Table:
    """Named columns, read when they are asked for."""

    name: str
    """The file, or what it is called in messages."""
    columns: tuple[str, ...]
    load: Callable[[Sequence[str]], pl.DataFrame]
    """Reads columns."""
    load_ids: Callable[[str], pl.Series]
    """Reads a column as ids: Int64 or String, as they are written."""
    line: Callable[[int], int] = lambda row: row + 1
    """The line of a row, from 1, as an editor shows it; the number of the row where there are no lines."""
    headless: bool = False
    """The file has no header: the names of the columns were made up."""
    file: Callable[[int], str] | None = None
    """Of a table that several files make, the file of a row."""

    @classmethod
    def of(cls, frame: pl.DataFrame, name: str, line: Callable[[int], int] = lambda row: row + 1) -> Table:
        """A table in memory."""

        def load_ids(column: str) -> pl.Series:
            try:
                return ids(frame[column])
            except CellError as error:
                raise InputError(f"{name}: column {error.column!r}: {error.problem}") from error

        return cls(name, tuple(frame.columns), lambda columns: frame.select(list(columns)), load_ids, line)

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """The columns, or all."""
        return self.load(self.columns if columns is None else columns)

    def ids(self, column: str) -> pl.Series:
        """The column as ids; none may be missing."""
        found = self.load_ids(column)
        if not len(found):
            raise InputError(f"{self.name}: holds no rows; give a file with at least one")
        if found.null_count():
            row = int(found.is_null().arg_true()[0])
            raise self.error(row, column, "an id is missing; fill it in or drop the row")
        return found

    def error(self, row: int, column: str, problem: str) -> InputError:
        """What is wrong with a cell, with its place in the file."""
        name = self.name if self.file is None else self.file(row)
        return InputError(f"{name}: row {self.line(row)}, column {column!r}: {problem}")

    def located(self, error: CellError, remedy: str = "") -> InputError:
        """The same error with the cell's place in this file."""
        return self.error(error.row, error.column, f"{error.problem}{remedy}")

    def check(self, column: str, option: str) -> str:
        """The column's name, if there is such a column; ``option`` is how another is chosen."""
        if column in self.columns:
            return column
        raise InputError(f"{self.name}: has no column {column!r}; {self.nearest(column)}; choose one by {option}")

    def nearest(self, column: str) -> str:
        """The columns that ``column`` may have been meant to be."""
        by_lower = {name.lower(): name for name in self.columns}
        close = [by_lower[name] for name in difflib.get_close_matches(column.lower(), by_lower, n=3)]
        if close:
            return f"did you mean {' or '.join(map(repr, close))}?"
        return f"its columns are {listed(self.columns)}"


def stacked(tables: Sequence[Table], name: str) -> tuple[Table, NDArray[np.int64]]:
    """Tables one below another, and the table that each row is of; all must have the columns of the first.

    Args:
        tables: at least one.
        name: what they are together, for messages.
    """
    first = tables[0]
    for table in tables[1:]:
        lacking = [column for column in first.columns if column not in table.columns]
        more = [column for column in table.columns if column not in first.columns]
        for columns, problem in ((lacking, "lacks"), (more, "has")):
            if columns:
                other = "has" if problem == "lacks" else "lacks"
                raise InputError(
                    f"{table.name}: {problem} the column {columns[0]!r}, which {first.name} {other}; all files need "
                    "the same columns: add it where it is missing (empty cells will do), or drop it"
                )
    heights = np.array([table.load(table.columns[:1]).height for table in tables])
    start = np.cumsum(heights) - heights
    of = np.repeat(np.arange(len(tables)), heights)

    def load(columns: Sequence[str]) -> pl.DataFrame:
        parts = [table.load(columns) for table in tables]
        # A table without rows has no kinds of its own.
        filled = [part for part in parts if part.height] or parts[:1]
        try:
            return pl.concat(filled, how="vertical_relaxed")
        except pl.exceptions.PolarsError as error:
            raise _other_kind(tables, parts) from error

    def load_ids(column: str) -> pl.Series:
        return pl.concat([table.load_ids(column).cast(pl.String) for table in tables])

    def line(row: int) -> int:
        return tables[of[row]].line(row - int(start[of[row]]))

    return Table(name, first.columns, load, load_ids, line, first.headless, lambda row: tables[of[row]].name), of


def _other_kind(tables: Sequence[Table], parts: Sequence[pl.DataFrame]) -> InputError:
    """The first table that has a column of a kind that cannot be put below the others."""
    kept: pl.DataFrame | None = None
    for table, part in zip(tables, parts, strict=True):
        for column in part.columns if kept is not None and part.height else ():
            assert kept is not None
            try:
                pl.concat([kept.select(column), part.select(column)], how="vertical_relaxed")
            except pl.exceptions.PolarsError:
                return InputError(
                    f"{table.name}: column {column!r}: given {part[column].dtype}, expected {kept[column].dtype} as in "
                    f"{tables[0].name}; write it the same way in all files"
                )
        if part.height:
            kept = part if kept is None else pl.concat([kept, part], how="vertical_relaxed")
    return InputError(f"{tables[0].name}: its columns cannot be put below those of the other files")


def listed(names: Collection[str], most: int = _LISTED) -> str:
    """Names for a message."""
    rest = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(list(names)[:most]) + rest


def suffix_of(path: Path) -> str:
    """The suffix that says what a file is, in lower case: that below .gz, if it is packed."""
    parts = [suffix.lower() for suffix in path.suffixes]
    return parts[-2] if len(parts) > 1 and parts[-1] == ".gz" else "".join(parts[-1:])


def check_file(path: Path, suffixes: Sequence[str]) -> str:
    """The suffix of a file that exists, is not empty and is of a known kind."""
    if not path.exists():
        near = difflib.get_close_matches(path.name, _beside(path), n=1)
        hint = f"did you mean {near[0]}?" if near else f"give the path of a {', '.join(suffixes)} file"
        raise InputError(f"{path}: no such file; {hint}")
    if not path.is_file():
        raise InputError(f"{path}: is a folder; give the path of a {', '.join(suffixes)} file")
    suffix = suffix_of(path)
    if suffix not in suffixes:
        raise InputError(f"{path}: given a {suffix or 'nameless'} file, expected one of {', '.join(suffixes)}")
    if not path.stat().st_size:
        raise InputError(f"{path}: is empty; give a file with at least one row")
    return suffix


def open_table(path: Path, usual: Collection[str] = (), header: bool | None = None) -> Table:
    """The table in a file: .csv, .tsv, .txt (all also with .gz), .parquet, JSON lines or JSON.

    Args:
        path: the file.
        usual: names in small letters and digits; a first line that has one is a header.
        header: whether the first line of a text file is a header; by itself, unless it is all numbers.
    """
    suffix = check_file(path, SUFFIXES)
    if suffix in TEXT:
        return _text_table(path, sniff(path, suffix, usual, header))
    try:
        if suffix == ".parquet":
            return _parquet(path)
        frame = _json(path) if suffix == ".json" else _json_lines(path)
    except (InputError, MemoryError):
        raise
    except Exception as error:
        raise InputError(f"{path}: cannot be read as {suffix}: {first_line(error)}; write it anew") from error
    if not frame.height:
        raise InputError(f"{path}: holds no rows; give a file with at least one")
    lines = _nonblank_line(path) if suffix != ".json" else (lambda row: row + 1)
    return Table.of(frame, str(path), lines)


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _beside(path: Path) -> list[str]:
    return [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []


def _text_table(path: Path, dialect: Dialect) -> Table:
    heights: list[int] = []

    def load(columns: Sequence[str], typed: bool = True) -> pl.DataFrame:
        found = read_text(path, dialect, columns, typed)
        heights.append(found.height)
        if found.height != heights[0]:  # columns are read one by one, and each has its own view of a stray quote
            raise InputError(
                f"{path}: some columns have {heights[0]:,} rows and others {found.height:,}, since a quotation mark "
                'within a cell hides the end of its line; take it out, or quote the cell and write it twice ("")'
            )
        return found

    def load_ids(column: str) -> pl.Series:
        return written_ids(load([column], typed=False)[column])

    def line(row: int) -> int:
        return text_line(path, dialect, row)

    return Table(str(path), dialect.names, load, load_ids, line, headless=not dialect.header)


def _parquet(path: Path) -> Table:
    scan = pl.scan_parquet(path, glob=False)
    names = tuple(scan.collect_schema().names())
    if not scan.select(pl.len()).collect().item():
        raise InputError(f"{path}: holds no rows; give a file with at least one")

    def load(columns: Sequence[str]) -> pl.DataFrame:
        try:
            return scan.select(list(columns)).collect()
        except MemoryError:
            raise
        except Exception as error:
            raise InputError(f"{path}: cannot be read as .parquet: {first_line(error)}; write it anew") from error

    return Table(str(path), names, load, lambda column: Table.of(load([column]), str(path)).load_ids(column))


def _json_lines(path: Path) -> pl.DataFrame:
    try:
        with open_bytes(path) as file:
            # Every line is looked at: a column may first appear in the last of them.
            return pl.read_ndjson(file.read(), infer_schema_length=None)
    except Exception:
        with open_bytes(path) as file:
            for number, line in enumerate(file, 1):
                _check_json_line(path, number, line)
        raise


def _check_json_line(path: Path, number: int, line: bytes) -> None:
    remedy = 'expected an object such as {"id": 1, "age": 30} in each line'
    try:
        if line.strip() and not isinstance(json.loads(line), dict):
            raise InputError(f"{path}: row {number}: given {shown(line.decode().strip())}, {remedy}")
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: row {number}: is not JSON ({first_line(error)}); {remedy}") from error


def _nonblank_line(path: Path) -> Callable[[int], int]:
    def line(row: int) -> int:
        with open_bytes(path) as file:
            full = (number for number, text in enumerate(file, 1) if text.strip())
            return next(number for index, number in enumerate(full) if index == row)

    return line


def _json(path: Path) -> pl.DataFrame:
    """Records, or an object of id → record, or of id → list (a bag of features, as SNAP's MUSAE graphs have)."""
    with open_bytes(path) as file:
        found = json.load(file, object_pairs_hook=lambda pairs: _without_repeats(path, pairs))
    if isinstance(found, list) and all(isinstance(row, dict) for row in found):
        return pl.DataFrame(found, infer_schema_length=None, strict=False)
    if isinstance(found, dict) and found:
        kinds = {type(value) for value in found.values()}
        keys = written_ids(pl.Series("id", list(found), dtype=pl.String))
        if kinds == {list}:
            return pl.DataFrame([keys, pl.Series("features", list(found.values()), strict=False)])
        if kinds == {dict}:
            rest = pl.DataFrame(list(found.values()), infer_schema_length=None, strict=False)
            return rest.drop("id", strict=False).insert_column(0, keys)
    raise InputError(
        f'{path}: expected records [{{"id": 1, "age": 30}}, ...] or lists of features {{"1": [3, 17], ...}}'
    )


def _without_repeats(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InputError(f"{path}: the name {twice!r} stands twice in one object; keep one of them")
    return found
