"""A table of named columns that are read on demand, with errors that name the file and line of a cell."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from girl.errors import InputError
from girl.tables.cells import CellError, to_ids
from girl.tables.messages import listed


@dataclass(frozen=True)
class Table:
    """Named columns in a file or in memory."""

    name: str
    """The file, or the argument of :func:`girl.embed`, for messages."""
    columns: tuple[str, ...]
    load: Callable[[Sequence[str]], pl.DataFrame]
    """Reads columns."""
    load_ids: Callable[[str], pl.Series]
    """Reads a column as ids: Int64 or String, as they are written."""
    line: Callable[[int], int] = lambda row: row + 1
    """The line of a row as an editor counts it, from 1; the number of the row if the file has no lines."""
    has_header: bool = True
    """False if the file has no header, so that the columns have default names."""
    file: Callable[[int], str] | None = None
    """For a table stacked from several files, the file of a row."""
    graph: pl.Series | None = None
    """For a set of graphs, the graph that each row belongs to, if the table has that information."""

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, name: str) -> Table:
        """A table in memory."""

        def load_ids(column: str) -> pl.Series:
            try:
                return to_ids(frame[column])
            except CellError as error:
                raise InputError(f"{name}: column {error.column!r}: {error.problem}") from error

        return cls(name, tuple(frame.columns), lambda columns: frame.select(list(columns)), load_ids)

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """The columns, or all of them."""
        return self.load(self.columns if columns is None else columns)

    def ids(self, column: str) -> pl.Series:
        """The column as ids, of which none may be missing."""
        ids = self.load_ids(column)
        if not len(ids):
            raise InputError(f"{self.name}: holds no rows; give a file with at least one")
        if ids.null_count():
            raise self.error(ids.is_null().arg_true()[0], column, "an id is missing; fill it in or drop the row")
        return ids

    def unique_ids(self, column: str) -> pl.Series:
        """The column as ids, of which none may be missing or repeated."""
        ids = self.ids(column)
        repeated = (~ids.is_first_distinct()).arg_true()
        if len(repeated):
            row = int(repeated[0])
            first = self.line(int((ids == ids[row]).arg_true()[0]))
            raise self.error(row, column, f"the id {ids[row]!r} is in row {first} already; keep one of them")
        return ids

    def with_graph(self, column: str | None) -> Table:
        """The table with ``column``, if it is there and no graphs are set, moved to :attr:`graph`."""
        if self.graph is not None or column not in self.columns or column is None:
            return self
        rest = tuple(name for name in self.columns if name != column)
        return replace(self, columns=rest, graph=self.ids(column))

    def error(self, row: int, column: str, problem: str) -> InputError:
        """An error about one cell, with its file and line."""
        name = self.name if self.file is None else self.file(row)
        return InputError(f"{name}: row {self.line(row)}, column {column!r}: {problem}")

    def located(self, error: CellError, remedy: str = "") -> InputError:
        """The same error with the cell's file and line."""
        return self.error(error.row, error.column, f"{error.problem}{remedy}")

    def check(self, column: str, option: str) -> str:
        """The column's name if the table has it, else an error; ``option`` is how to choose another."""
        if column in self.columns:
            return column
        raise InputError(f"{self.name}: has no column {column!r}; {self.suggest(column)}; choose one by {option}")

    def suggest(self, column: str) -> str:
        """The columns with a similar name, else all of them, for messages."""
        by_lower = {name.lower(): name for name in self.columns}
        close = [by_lower[name] for name in difflib.get_close_matches(column.lower(), by_lower, n=3)]
        if close:
            return f"did you mean {' or '.join(map(repr, close))}?"
        return f"its columns are {listed(self.columns)}"


def stack_tables(tables: dict[str, Table], name: str) -> Table:
    """One table with the rows of several, each the table of one graph; all must have the columns of the first.

    Args:
        tables: at least one, by the name of the graph.
        name: of the result, for messages.
    """
    parts = list(tables.values())
    first = parts[0]
    for table in parts[1:]:
        missing = [(column, "lacks", "has") for column in first.columns if column not in table.columns]
        extra = [(column, "has", "lacks") for column in table.columns if column not in first.columns]
        for column, here, there in missing + extra:
            raise InputError(
                f"{table.name}: {here} the column {column!r}, which {first.name} {there}; all files need the same "
                "columns: add it where it is missing (empty cells will do), or drop it"
            )
    heights = np.array([table.load(table.columns[:1]).height for table in parts])
    start = np.cumsum(heights) - heights
    part_of_row = np.repeat(np.arange(len(parts)), heights)

    def load(columns: Sequence[str]) -> pl.DataFrame:
        frames = [table.load(columns) for table in parts]
        try:
            # A table without rows has no column types of its own.
            return pl.concat([frame for frame in frames if frame.height] or frames[:1], how="vertical_relaxed")
        except pl.exceptions.PolarsError as error:
            raise _type_error(parts, frames) from error

    def load_ids(column: str) -> pl.Series:
        return pl.concat([table.load_ids(column).cast(pl.String) for table in parts])

    def line(row: int) -> int:
        return parts[part_of_row[row]].line(row - int(start[part_of_row[row]]))

    def file(row: int) -> str:
        return parts[part_of_row[row]].name

    graph = pl.Series("graph", list(tables), dtype=pl.String).gather(part_of_row)
    return Table(name, first.columns, load, load_ids, line, first.has_header, file, graph)


def _type_error(tables: Sequence[Table], frames: Sequence[pl.DataFrame]) -> InputError:
    """The error for the first column whose type does not fit that in the first table with rows."""
    first = next(frame for frame in frames if frame.height)
    for table, frame in zip(tables, frames, strict=True):
        for column in frame.columns if frame.height else ():
            try:
                pl.concat([first.select(column), frame.select(column)], how="vertical_relaxed")
            except pl.exceptions.PolarsError:
                return InputError(
                    f"{table.name}: column {column!r}: given {frame[column].dtype}, expected {first[column].dtype} as "
                    f"in {tables[0].name}; write it the same way in all files"
                )
    return InputError(f"{tables[0].name}: its columns have other types than those of the other files")
