"""Node tables: which column holds the ids, several tables as one, and ids as numbers from 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from girl.errors import InputError
from girl.tables.edges import Edges
from girl.tables.table import Table, listed
from girl.tables.text import plain
from girl.tables.values import CellError, shown

#: Usual names of an id column, in small letters and digits, the most telling first.
IDS = ("id", "nodeid", "node", "nodes", "uid", "userid", "newid", "name", "key", "index", "idx", "column1")

#: Share of the best column's matches with the edges from which a usual name decides.
_ENOUGH = 0.5
#: Share of ids that a column of another name must have in common with the edges: ages look like ids, too.
_MOST = 0.8

#: Numbers from the least id to the greatest that a table of places may have.
_SPAN = 1 << 25


@dataclass(frozen=True)
class NodeTable:
    """Everything that tables say about nodes, and all ids in one type."""

    frame: pl.DataFrame
    ids: pl.Series | None
    """Of the rows of ``frame``."""
    source: pl.Series
    target: pl.Series
    tables: list[Table] = field(default_factory=list)
    rows: list[pl.Series | None] = field(default_factory=list)
    """For each table, its row for each row of ``frame``; None: the same."""
    id_columns: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Of the files, for messages."""
        return ", ".join(table.name for table in self.tables) or "no node table"

    def located(self, error: CellError, remedy: str = "") -> InputError:
        """The error with the cell's place in its file."""
        for table, rows in zip(self.tables, self.rows, strict=True):
            if error.column in table.columns:
                row = error.row if rows is None else rows[error.row]
                return table.located(CellError(row or 0, error.column, error.problem), remedy)
        return error


def node_table(tables: Sequence[Table], edges: Edges, id_column: str | None = None) -> NodeTable:
    """The tables as one, matched to the ends of the edges."""
    if not tables:
        source, target = alike([edges.source, edges.target])
        return NodeTable(pl.DataFrame(), None, source, target)
    known = _distinct([edges.source, edges.target], pl.String())
    notes: list[str] = []
    chosen: list[str] = []
    columns: list[pl.Series] = []
    for table in tables:
        name, guess = _choose_id(table, known, id_column)
        notes += guess
        chosen.append(name)
        columns.append(unique_ids(table, name))
        _check_met(table, name, columns[-1], known, edges)
    *columns, source, target = alike([*columns, edges.source, edges.target])
    if len(tables) == 1:
        return NodeTable(tables[0].read(), columns[0], source, target, list(tables), [None], chosen, notes)
    frame, ids, rows = _joined(tables, chosen, columns)
    return NodeTable(frame, ids, source, target, list(tables), rows, chosen, notes)


def index_of(nodes: NodeTable) -> tuple[pl.Series, NDArray[np.int64], NDArray[np.int64]]:
    """All ids, and the ends of edges as their places: the tables' in order, then those only in edges, sorted."""
    ends = _distinct([nodes.source, nodes.target], nodes.source.dtype)
    if nodes.ids is None:
        ids = ends.sort()
    else:
        table = nodes.ids.rename("id")
        ids = pl.concat([table, ends.filter(~ends.is_in(table.implode())).sort()])
    return ids, _places(nodes.source, ids), _places(nodes.target, ids)


def _distinct(columns: Sequence[pl.Series], kind: pl.DataType) -> pl.Series:
    """All ids that occur. Each column is cut down first: to compare millions of texts would take longer."""
    return pl.concat([column.unique().cast(kind).rename("id") for column in columns]).unique()


def _places(column: pl.Series, ids: pl.Series) -> NDArray[np.int64]:
    """Where in ``ids`` each id stands."""
    if ids.dtype == pl.Int64:
        values = ids.to_numpy()
        low, high = int(values.min()), int(values.max())
        if high - low < max(_SPAN, 4 * len(ids)):  # a table of all numbers between is small and much faster
            places = np.zeros(high - low + 1, dtype=np.int32 if len(ids) < 2**31 else np.int64)
            places[values - low] = np.arange(len(ids))
            return places[column.to_numpy() - low]
    known = pl.DataFrame({"id": ids, "place": np.arange(len(ids))})
    return column.rename("id").to_frame().join(known, on="id", how="left", maintain_order="left")["place"].to_numpy()


def alike(columns: Sequence[pl.Series]) -> list[pl.Series]:
    """Ids of one type: that of the first, if all can be written so; else text."""
    if len({column.dtype for column in columns}) == 1:
        return list(columns)
    if columns[0].dtype == pl.Int64:
        numbers = [column.cast(pl.Int64, strict=False) for column in columns]
        if all(n.cast(pl.String).equals(c.cast(pl.String)) for n, c in zip(numbers, columns, strict=True)):
            return numbers
    return [column.cast(pl.String) for column in columns]


def _choose_id(table: Table, known: pl.Series, asked: str | None) -> tuple[str, list[str]]:
    """The id column: asked for, or that which has the ids of the edges; a usual name decides among several."""
    if asked is not None and asked in table.columns:
        return asked, []
    usual = sorted((c for c in table.columns if plain(c) in IDS), key=lambda c: IDS.index(plain(c)))
    met = {column: _met(table, column, known) for column in usual}
    if max(met.values(), default=0) < _ENOUGH:
        others = {column: _met(table, column, known) for column in table.columns if column not in met}
        met |= {column: share for column, share in others.items() if share >= _MOST}
    best = max(met, key=lambda column: met[column], default=None)
    if best is None or not met[best]:
        if usual:  # the check of what it holds says more
            return usual[0], []
        raise InputError(
            f"{table.name}: no column has the ids of the edges, such as {shown(known.sort()[0])}; its columns are "
            f"{listed(table.columns)}; choose the right one by --id, or check that the files belong together"
        )
    named = next((column for column in usual if met[column] >= _ENOUGH * met[best]), best)
    return named, [f"The ids of nodes are the column {named!r} of {table.name}."]


def _met(table: Table, column: str, known: pl.Series) -> float:
    """The share of ids that a column has in common with the edges; none if it often repeats one."""
    try:
        found = table.load_ids(column).drop_nulls().cast(pl.String)
    except InputError:
        return 0
    unique = found.unique()
    # One id twice is a mistake to be told; a column of two names for everybody is no column of ids.
    if len(unique) <= len(found) / 2:
        return 0
    return int(unique.is_in(known.implode()).sum()) / min(len(unique), len(known))


def unique_ids(table: Table, column: str) -> pl.Series:
    """The column as ids, each of which stands there once."""
    found = table.ids(column)
    repeats = (~found.is_first_distinct()).arg_true()
    if len(repeats):
        row = int(repeats[0])
        first = int((found == found[row]).arg_true()[0])
        raise table.error(
            row, column, f"the id {found[row]!r} stands in row {table.line(first)} already; keep one of them"
        )
    return found


def _check_met(table: Table, column: str, found: pl.Series, known: pl.Series, edges: Edges) -> None:
    if not bool(found.cast(pl.String).is_in(known.implode()).any()):
        raise InputError(
            f"{table.name}: no id of column {column!r}, such as {shown(found[0])}, is an end of an edge in "
            f"{edges.table.name}, such as {shown(edges.source[0])}; choose the id column by --id, or check that the "
            "files belong together"
        )


def _joined(
    tables: Sequence[Table], chosen: Sequence[str], columns: Sequence[pl.Series]
) -> tuple[pl.DataFrame, pl.Series, list[pl.Series | None]]:
    """Tables side by side: rows in the order of the first, then those that only the next have."""
    ids = pl.concat([column.rename("id") for column in columns]).unique(maintain_order=True)
    parts: list[pl.DataFrame] = []
    rows: list[pl.Series | None] = []
    for table, name, column in zip(tables, chosen, columns, strict=True):
        part = table.read()
        if parts:
            part = part.drop(name)
        twice = [name for name in part.columns for before in parts if name in before.columns]
        if twice:
            raise InputError(f"{table.name}: has the column {twice[0]!r}, as a table before has; rename one of them")
        places = pl.DataFrame({"id": column.rename("id"), "row": np.arange(part.height)})
        row = ids.to_frame().join(places, on="id", how="left", maintain_order="left")["row"]
        rows.append(row)
        parts.append(part.select(pl.all().gather(row)))
    return pl.concat(parts, how="horizontal"), ids, rows
