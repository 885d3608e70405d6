"""A matrix of numbers from a file: .npy, .npz (scipy sparse), .csv, .tsv or .parquet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse
from numpy.typing import NDArray

from girl.errors import InputError

SUFFIXES = (".npy", ".npz", ".csv", ".tsv", ".parquet")

#: Rows of a table that stand above the first row of data in an editor: the header.
_HEADER_ROWS = 1


def read_matrix(path: Path, columns: Sequence[str] | None = None) -> NDArray[np.float64]:
    """The numbers in ``path``, n x d; of a table, those of ``columns`` or of all columns.

    A CSV or TSV file whose first line is all numbers has no header: its columns are called column_1, column_2, ...
    """
    if not path.exists():
        raise InputError(f"{path}: no such file; give the path of a {', '.join(SUFFIXES)} file")
    if path.suffix not in SUFFIXES:
        raise InputError(f"{path}: given a {path.suffix or 'nameless'} file, expected one of {', '.join(SUFFIXES)}")
    try:
        if path.suffix in (".npy", ".npz"):
            return _read_array(path, columns)
        return _table_numbers(path, _read_table(path), columns)
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
    return _finite(path, np.atleast_2d(array.T).T.astype(np.float64), None)


def _read_table(path: Path) -> pl.DataFrame:
    if path.suffix == ".parquet":
        return pl.read_parquet(path)
    separator = "\t" if path.suffix == ".tsv" else ","
    with path.open(encoding="utf-8-sig") as file:
        first = file.readline().strip()
    if not first:
        raise InputError(f"{path}: is empty; expected at least two rows of numbers")
    headless = all(_is_number(cell) for cell in first.split(separator))
    table = pl.read_csv(path, separator=separator, has_header=not headless, infer_schema_length=None)
    # Versions of polars count from 0 or from 1.
    return table.rename(dict(zip(table.columns, _numbered(table.width), strict=True))) if headless else table


def _numbered(width: int) -> list[str]:
    return [f"column_{place}" for place in range(1, width + 1)]


def _is_number(cell: str) -> bool:
    try:
        float(cell.strip().strip('"'))
    except ValueError:
        return False
    return True


def _table_numbers(path: Path, table: pl.DataFrame, columns: Sequence[str] | None) -> NDArray[np.float64]:
    for name in columns or ():
        if name not in table.columns:
            raise InputError(f"{path}: has no column {name!r}; its columns are {', '.join(table.columns)}")
    table = table.select(list(columns)) if columns else table
    for name in table.columns:
        column = table[name]
        if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
            number = column.cast(pl.Float64, strict=False)
            bad = (number.is_null() & column.is_not_null()).arg_true()
            at = f"row {bad[0] + 1 + _HEADER_ROWS}: {column[bad[0]]!r}, " if len(bad) else ""
            raise InputError(
                f"{path}: column {name!r} holds {at}not a number; choose the numeric columns by name, or convert it"
            )
    return _finite(path, table.cast(pl.Float64).to_numpy(), table.columns)


def _finite(path: Path, array: NDArray[np.float64], names: Sequence[str] | None) -> NDArray[np.float64]:
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        row, column = bad[0]
        where = f"column {names[column]!r}" if names else f"column {column}"
        raise InputError(
            f"{path}: row {row + 1}, {where} is missing or not finite ({len(bad)} such cells); drop or fill them first"
        )
    return array
