"""Files that hold one table: text, Parquet, JSON and JSON lines."""

from __future__ import annotations

import difflib
import itertools
import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from girl.errors import InputError
from girl.tables.cells import text_to_ids
from girl.tables.messages import first_line, shown
from girl.tables.table import Table
from girl.tables.text import TEXT_SUFFIXES, TextFormat, detect_format, line_of_row, open_bytes, read_text

TABLE_SUFFIXES = (*TEXT_SUFFIXES, ".parquet", ".jsonl", ".ndjson", ".json")


def open_table(path: Path, usual: Collection[str] = (), header: bool | None = None) -> Table:
    """The table in a file: .csv, .tsv, .txt (all also with .gz), .parquet, JSON lines or JSON.

    Args:
        path: the file.
        usual: simple names (see :func:`~girl.tables.column_names.simple_name`) that only a header has.
        header: whether the first line of a text file is a header; if None, it is one unless it is all numbers.
    """
    suffix = check_file(path, TABLE_SUFFIXES)
    if suffix in TEXT_SUFFIXES:
        return _text_table(path, detect_format(path, suffix, usual, header))
    try:
        if suffix == ".parquet":
            return _parquet_table(path)
        frame = _read_json(path) if suffix == ".json" else _read_json_lines(path)
    except (InputError, MemoryError):
        raise
    except Exception as error:
        raise read_error(path, suffix, error) from error
    if not frame.height:
        raise InputError(f"{path}: holds no rows; give a file with at least one")
    table = Table.from_frame(frame, str(path))
    return table if suffix == ".json" else replace(table, line=lambda row: _line_of_row(path, row))


def check_file(path: Path, suffixes: Sequence[str]) -> str:
    """The suffix of a file that exists, is not empty and is of one of these kinds."""
    if not path.exists():
        names = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        close = difflib.get_close_matches(path.name, names, n=1)
        hint = f"did you mean {close[0]}?" if close else f"give the path of a {', '.join(suffixes)} file"
        raise InputError(f"{path}: no such file; {hint}")
    if not path.is_file():
        raise InputError(f"{path}: is a folder; give the path of a {', '.join(suffixes)} file")
    suffix = suffix_of(path)
    if suffix not in suffixes:
        raise InputError(f"{path}: given a {suffix or 'nameless'} file, expected one of {', '.join(suffixes)}")
    if not path.stat().st_size:
        raise InputError(f"{path}: is empty; give a file with at least one row")
    return suffix


def suffix_of(path: Path) -> str:
    """The suffix in lower case; the one before .gz for a compressed file."""
    parts = [suffix.lower() for suffix in path.suffixes]
    return parts[-2] if len(parts) > 1 and parts[-1] == ".gz" else "".join(parts[-1:])


def read_error(path: Path, suffix: str, error: BaseException) -> InputError:
    """The error for a file that its format's reader refused."""
    return InputError(f"{path}: cannot be read as {suffix}: {first_line(error)}; write it again")


def _text_table(path: Path, form: TextFormat) -> Table:
    heights: list[int] = []

    def load(columns: Sequence[str], typed: bool = True) -> pl.DataFrame:
        frame = read_text(path, form, columns, typed)
        heights.append(frame.height)
        if frame.height != heights[0]:  # columns are read separately, and each may see a stray quote differently
            raise InputError(
                f"{path}: some columns have {heights[0]:,} rows and others {frame.height:,}, since a quotation mark "
                'within a cell hides the end of its line; take it out, or quote the cell and write it twice ("")'
            )
        return frame

    def load_ids(column: str) -> pl.Series:
        return text_to_ids(load([column], typed=False)[column])

    def line(row: int) -> int:
        return line_of_row(path, form, row)

    return Table(str(path), form.columns, load, load_ids, line, form.has_header)


def _parquet_table(path: Path) -> Table:
    scan = pl.scan_parquet(path, glob=False)
    columns = tuple(scan.collect_schema().names())
    if not scan.select(pl.len()).collect().item():
        raise InputError(f"{path}: holds no rows; give a file with at least one")

    def load(columns: Sequence[str]) -> pl.DataFrame:
        try:
            return scan.select(list(columns)).collect()
        except MemoryError:
            raise
        except Exception as error:
            raise read_error(path, ".parquet", error) from error

    return Table(str(path), columns, load, lambda column: Table.from_frame(load([column]), str(path)).load_ids(column))


def _read_json_lines(path: Path) -> pl.DataFrame:
    try:
        with open_bytes(path) as file:
            # All lines are used to infer the columns: the last may have a new one.
            return pl.read_ndjson(file.read(), infer_schema_length=None)
    except Exception:
        expected = 'expected an object such as {"id": 1, "age": 30} in each line'
        with open_bytes(path) as file:
            for number, line in enumerate(file, 1):
                try:
                    value = json.loads(line) if line.strip() else {}
                except ValueError as error:
                    raise InputError(f"{path}: row {number}: is not JSON ({first_line(error)}); {expected}") from error
                if not isinstance(value, dict):
                    raise InputError(
                        f"{path}: row {number}: given {shown(line.decode().strip())}, {expected}"
                    ) from None
        raise


def _line_of_row(path: Path, row: int) -> int:
    with open_bytes(path) as file:
        return next(itertools.islice((number for number, line in enumerate(file, 1) if line.strip()), row, None))


def _read_json(path: Path) -> pl.DataFrame:
    """Records, an object of id → record, or an object of id → list of features, as SNAP's MUSAE graphs have."""
    with open_bytes(path) as file:
        content = json.load(file, object_pairs_hook=lambda pairs: _unique_keys(path, pairs))
    if isinstance(content, list) and all(isinstance(row, dict) for row in content):
        return pl.DataFrame(content, infer_schema_length=None, strict=False)
    if isinstance(content, dict) and content:
        kinds = {type(value) for value in content.values()}
        ids = text_to_ids(pl.Series("id", list(content), dtype=pl.String))
        if kinds == {list}:
            return pl.DataFrame([ids, pl.Series("features", list(content.values()), strict=False)])
        if kinds == {dict}:
            rest = pl.DataFrame(list(content.values()), infer_schema_length=None, strict=False)
            return rest.drop("id", strict=False).insert_column(0, ids)
    raise InputError(
        f'{path}: expected records [{{"id": 1, "age": 30}}, ...] or lists of features {{"1": [3, 17], ...}}'
    )


def _unique_keys(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in content if names.count(name) > 1)
        raise InputError(f"{path}: the name {twice!r} occurs twice in one object; keep one of them")
    return content
