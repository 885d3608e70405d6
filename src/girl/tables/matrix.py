"""A matrix of numbers from a file, for ``girl rho``: .npy, .npz (scipy sparse), .csv, .tsv or .parquet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse
from numpy.typing import NDArray

from girl.errors import InputError
from girl.tables.cells import CellError, to_numbers
from girl.tables.messages import listed
from girl.tables.table import Table
from girl.tables.table_files import check_file, open_table, read_error
from girl.tables.text import is_number

SUFFIXES = (".npy", ".npz", ".csv", ".tsv", ".parquet")


def read_matrix(path: Path, columns: Sequence[str] | None = None) -> NDArray[np.float64]:
    """The numbers in a file, n × d; for a table, those of ``columns`` or of all columns.

    A CSV or TSV file whose first line is all numbers has no header: its columns are column_1, column_2 and so on.
    """
    suffix = check_file(path, SUFFIXES)
    table = None if suffix in (".npy", ".npz") else open_table(path)
    array = _read_array(path, suffix, columns) if table is None else _read_numbers(table, suffix, columns)
    missing = np.argwhere(~np.isfinite(array))
    if len(missing):
        row, column = missing[0].tolist()
        line = row + 1 if table is None else table.line(row)
        name = column + 1 if table is None else repr((columns or table.columns)[column])
        raise InputError(
            f"{path}: row {line}, column {name} is missing or not finite ({len(missing)} such cells); drop or fill "
            "them first"
        )
    return array


def _read_array(path: Path, suffix: str, columns: Sequence[str] | None) -> NDArray[np.float64]:
    if columns:
        raise InputError(
            f"{path}: has no column names, so columns {', '.join(columns)} cannot be chosen; drop the option"
        )
    try:
        # Never a pickle: loading one would run whatever code its author put there.
        array = scipy.sparse.load_npz(path).toarray() if suffix == ".npz" else np.load(path, allow_pickle=False)
    except Exception as error:
        raise read_error(path, suffix, error) from error
    if array.ndim not in (1, 2) or array.dtype.kind not in "fiub":
        raise InputError(f"{path}: given {array.dtype} of shape {array.shape}, expected numbers with one or two axes")
    return np.atleast_2d(array.T).T.astype(np.float64)


def _read_numbers(table: Table, suffix: str, columns: Sequence[str] | None) -> NDArray[np.float64]:
    numbers = [name for name in table.columns if is_number(name)]
    if suffix != ".parquet" and table.has_header and numbers:
        raise InputError(
            f"{table.name}: the first line holds the number {numbers[0]!r} among other words; expected a header "
            "without numbers, or numbers only: name every column, or fill the gap"
        )
    for name in columns or ():
        if name not in table.columns:
            raise InputError(f"{table.name}: has no column {name!r}; its columns are {listed(table.columns)}")
    remedy = "; choose the numeric columns by name, or convert it"
    frame = table.read(columns or None)
    for name, kind in frame.schema.items():
        if not (kind.is_numeric() or kind in (pl.String, pl.Null, pl.Boolean)):
            raise InputError(f"{table.name}: column {name!r} holds {kind}, not numbers{remedy}")
    try:
        return pl.DataFrame([to_numbers(column) for column in frame]).to_numpy()
    except CellError as error:
        raise table.located(error, remedy) from error
