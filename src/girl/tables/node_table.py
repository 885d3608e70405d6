"""Node tables joined and matched to the edges: which column holds the ids, and the position of every id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from girl.errors import InputError
from girl.tables.cells import CellError
from girl.tables.column_names import IDS, simple_name
from girl.tables.edges import Edges
from girl.tables.messages import listed, shown
from girl.tables.table import Table

#: A column with a usual name is preferred if it has this fraction of the best column's matches with the edges.
_PREFER = 0.5
#: A column without a usual name must share this fraction of ids with the edges: ages look like ids, too.
_REQUIRE = 0.8

#: Largest range of integer ids for which a lookup array is used.
_MAX_RANGE = 1 << 25


@dataclass(frozen=True)
class NodeTable:
    """The nodes of a graph and the node tables' columns."""

    ids: pl.Series
    """Ids of the n nodes, Int64 or String: those of the tables in their order, then those only in edges, sorted."""
    source: NDArray[np.int64]
    """Position in ``ids`` of each edge's source."""
    target: NDArray[np.int64]
    frame: pl.DataFrame
    """All columns of the tables; its rows are the first of ``ids``."""
    tables: list[Table] = field(default_factory=list)
    rows: list[pl.Series | None] = field(default_factory=list)
    """For each table, its row for each row of ``frame``; None if they are the same."""
    id_columns: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The files' names, for messages."""
        return ", ".join(table.name for table in self.tables) or "no node table"

    def located(self, error: CellError, remedy: str = "") -> InputError:
        """The same error with the cell's file and line."""
        for table, rows in zip(self.tables, self.rows, strict=True):
            if error.column in table.columns:
                row = error.row if rows is None else rows[error.row]
                return table.located(CellError(row or 0, error.column, error.problem), remedy)
        return error


def match_nodes(tables: Sequence[Table], edges: Edges, id_column: str | None = None) -> NodeTable:
    """The node tables joined by id, and the ends of the edges as positions among all ids."""
    edge_ids = _unique([edges.source, edges.target], pl.String()) if tables else pl.Series(dtype=pl.String)
    notes: list[str] = []
    chosen: list[str] = []
    table_ids: list[pl.Series] = []
    for table in tables:
        column, note = _choose_id_column(table, edge_ids, id_column)
        ids = table.unique_ids(column)
        if not bool(ids.cast(pl.String).is_in(edge_ids.implode()).any()):
            raise InputError(
                f"{table.name}: no id of column {column!r}, such as {shown(ids[0])}, is an end of an edge in "
                f"{edges.table.name}, such as {shown(edges.source[0])}; choose the id column by --id, or check that "
                "the files belong together"
            )
        notes += note
        chosen.append(column)
        table_ids.append(ids)
    *table_ids, source, target = to_common_type([*table_ids, edges.source, edges.target])
    frame, rows = pl.DataFrame(), list[pl.Series | None]()
    ends = _unique([source, target], source.dtype)
    if not tables:
        ids = ends.sort()
    else:
        ids = pl.concat([column.rename("id") for column in table_ids])
        ids = ids.unique(maintain_order=True) if len(tables) > 1 else ids
        frame, rows = _join(tables, chosen, table_ids, ids)
        ids = pl.concat([ids, ends.filter(~ends.is_in(ids.implode())).sort()])
    positions = _positions(source, ids), _positions(target, ids)
    return NodeTable(ids, *positions, frame, list(tables), rows, chosen, notes)


def to_common_type(columns: Sequence[pl.Series]) -> list[pl.Series]:
    """Ids of one type: integers if the first are and all others can be written as such, else text."""
    if len({column.dtype for column in columns}) == 1:
        return list(columns)
    if columns[0].dtype == pl.Int64:
        integers = [column.cast(pl.Int64, strict=False) for column in columns]
        if all(i.cast(pl.String).equals(c.cast(pl.String)) for i, c in zip(integers, columns, strict=True)):
            return integers
    return [column.cast(pl.String) for column in columns]


def _unique(columns: Sequence[pl.Series], kind: pl.DataType) -> pl.Series:
    """All ids that occur. Each column is reduced first: casting and comparing millions of texts is slower."""
    return pl.concat([column.unique().cast(kind).rename("id") for column in columns]).unique()


def _positions(column: pl.Series, ids: pl.Series) -> NDArray[np.int64]:
    """The position in ``ids`` of each id."""
    if ids.dtype == pl.Int64:
        values = ids.to_numpy()
        low, high = int(values.min()), int(values.max())
        if high - low < max(_MAX_RANGE, 4 * len(ids)):  # an array over the whole range is small and much faster
            lookup = np.zeros(high - low + 1, dtype=np.int32 if len(ids) < 2**31 else np.int64)
            lookup[values - low] = np.arange(len(ids))
            return lookup[column.to_numpy() - low]
    return _row_of_id(ids, column).to_numpy()


def _row_of_id(ids: pl.Series, wanted: pl.Series) -> pl.Series:
    """The row in ``ids`` of each wanted id; null if it is missing."""
    rows = pl.DataFrame({"id": ids, "row": np.arange(len(ids))})
    return wanted.rename("id").to_frame().join(rows, on="id", how="left", maintain_order="left")["row"]


def _choose_id_column(table: Table, edge_ids: pl.Series, id_column: str | None) -> tuple[str, list[str]]:
    """``id_column``, or the one that shares most ids with the edges, where usual names are preferred; and a note."""
    if id_column is not None and id_column in table.columns:
        return id_column, []
    usual = [column for column in table.columns if simple_name(column) in IDS]
    usual.sort(key=lambda column: IDS.index(simple_name(column)))
    matches = {column: _fraction_in_edges(table, column, edge_ids) for column in usual}
    if max(matches.values(), default=0) < _PREFER:
        others = {name: _fraction_in_edges(table, name, edge_ids) for name in table.columns if name not in matches}
        matches |= {column: fraction for column, fraction in others.items() if fraction >= _REQUIRE}
    best = max(matches, key=lambda column: matches[column], default=None)
    if best is None or not matches[best]:
        if usual:  # the check of its ids gives a better message
            return usual[0], []
        raise InputError(
            f"{table.name}: no column has the ids of the edges, such as {shown(edge_ids.sort()[0])}; its columns are "
            f"{listed(table.columns)}; choose the right one by --id, or check that the files belong together"
        )
    column = next((column for column in usual if matches[column] >= _PREFER * matches[best]), best)
    return column, [f"The ids of nodes are the column {column!r} of {table.name}."]


def _fraction_in_edges(table: Table, column: str, edge_ids: pl.Series) -> float:
    """The fraction of ids that a column has in common with the edges; 0 if it repeats ids often."""
    try:
        ids = table.load_ids(column).drop_nulls().cast(pl.String)
    except InputError:
        return 0
    unique = ids.unique()
    # An id that occurs twice is a mistake to report; a column where most do is no id column.
    if len(unique) <= len(ids) / 2:
        return 0
    return int(unique.is_in(edge_ids.implode()).sum()) / min(len(unique), len(edge_ids))


def _join(
    tables: Sequence[Table], chosen: Sequence[str], table_ids: Sequence[pl.Series], ids: pl.Series
) -> tuple[pl.DataFrame, list[pl.Series | None]]:
    """The tables side by side, a row for each of ``ids``, and the row of each table that it comes from."""
    if len(tables) == 1:
        return tables[0].read(), [None]
    frames: list[pl.DataFrame] = []
    rows: list[pl.Series | None] = []
    for table, id_column, column in zip(tables, chosen, table_ids, strict=True):
        frame = table.read()
        if frames:
            frame = frame.drop(id_column)
        repeated = [name for name in frame.columns for before in frames if name in before.columns]
        if repeated:
            raise InputError(f"{table.name}: has the column {repeated[0]!r}, as a table before has; rename one of them")
        rows.append(_row_of_id(column, ids))
        frames.append(frame.select(pl.all().gather(rows[-1])))
    return pl.concat(frames, how="horizontal"), rows
