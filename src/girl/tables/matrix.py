"""A matrix of numbers from a file: .npy, .npz (scipy sparse), .csv, .tsv or .parquet."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse
from numpy.typing import NDArray

from girl.errors import InputError
from girl.tables.text import is_number, made_up_names

SUFFIXES = (".npy", ".npz", ".csv", ".tsv", ".parquet")


def read_matrix(path: Path, columns: Sequence[str] | None = None) -> NDArray[np.float64]:
    """The numbers in ``path``, n x d; of a table, those of ``columns`` or of all columns.

    A CSV or TSV file whose first line is all numbers has no header: its columns are called column_1, column_2, ...
    Messages count its rows as an editor does its lines, those of other files from the first row of data, both from 1.
    """
    if not path.exists():
        raise InputError(f"{path}: no such file; give the path of a {', '.join(SUFFIXES)} file")
    if path.suffix not in SUFFIXES:
        raise InputError(f"{path}: given a {path.suffix or 'nameless'} file, expected one of {', '.join(SUFFIXES)}")
    try:
        if path.suffix in (".npy", ".npz"):
            return _read_array(path, columns)
        return _table_numbers(path, *_read_table(path), columns)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{path}: cannot be read as {path.suffix}: {str(error).splitlines()[0]}") from error


def _read_array(path: Path, columns: Sequence[str] | None) -> NDArray[np.float64]:
    if columns:
        raise InputError(
            f"{path}: has no column names, so columns {', '.join(columns)} cannot be chosen; drop the option"
        )
    # Never a pickle: loading one would run whatever code its author put there.
    array = scipy.sparse.load_npz(path).toarray() if path.suffix == ".npz" else np.load(path, allow_pickle=False)
    if array.ndim not in (1, 2) or array.dtype.kind not in "fiub":
        raise InputError(f"{path}: given {array.dtype} of shape {array.shape}, expected numbers with one or two axes")
    return _finite(path, np.atleast_2d(array.T).T.astype(np.float64), None, 1)


def _read_table(path: Path) -> tuple[pl.DataFrame, int]:
    """The table and the number of its first row of data."""
    if path.suffix == ".parquet":
        return pl.read_parquet(path), 1
    separator = "\t" if path.suffix == ".tsv" else ","
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = next(csv.reader(file, delimiter=separator), [])
    if not any(cell.strip() for cell in first):
        raise InputError(f"{path}: row 1 is empty; expected a header, or the first of at least two rows of numbers")
    words = [cell for cell in first if not is_number(cell)]
    if words and len(words) < len(first):
        number = next(filter(is_number, first))
        raise InputError(
            f"{path}: row 1 holds both {number!r} and {words[0]!r}; expected a header without numbers, "
            "or numbers only: name every column, or fill the gap"
        )
    table = pl.read_csv(path, separator=separator, has_header=bool(words), infer_schema_length=None)
    if words:
        return table, 2
    # Versions of polars count from 0 or from 1.
    return table.rename(dict(zip(table.columns, made_up_names(table.width), strict=True))), 1


def _table_numbers(path: Path, table: pl.DataFrame, first: int, columns: Sequence[str] | None) -> NDArray[np.float64]:
    for name in columns or ():
        if name not in table.columns:
            raise InputError(f"{path}: has no column {name!r}; its columns are {', '.join(table.columns)}")
    table = table.select(list(columns)) if columns else table
    for name in table.columns:
        column, remedy = table[name], "choose the numeric columns by name, or convert it"
        # A column of nothing, or of numbers and the word nan, is one of words too: its gaps are told below.
        if column.dtype in (pl.String, pl.Null):
            bad = (column.cast(pl.Float64, strict=False).is_null() & column.is_not_null()).arg_true()
            if len(bad):
                raise InputError(
                    f"{path}: row {first + bad[0]}, column {name!r}: {column[bad[0]]!r} is not a number; {remedy}"
                )
        elif not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
            raise InputError(f"{path}: column {name!r} holds {column.dtype}, not numbers; {remedy}")
    return _finite(path, table.cast(pl.Float64).to_numpy(), table.columns, first)


def _finite(path: Path, array: NDArray[np.float64], names: Sequence[str] | None, first: int) -> NDArray[np.float64]:
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        row, column = bad[0]
        where = f"column {names[column]!r}" if names else f"column {column + 1}"
        raise InputError(
            f"{path}: row {first + row}, {where} is missing or not finite ({len(bad)} such cells); "
            "drop or fill them first"
        )
    return array
