"""Edges as a user gives them: which columns are the ends, what they weigh, when they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from girl.errors import InputError
from girl.tables.graph_files import GRAPHS, GraphFile, read_graph_file
from girl.tables.table import SUFFIXES, Table, check_file, listed, open_table
from girl.tables.text import plain
from girl.tables.values import CellError, date_form, is_time, number_share, numbers, shown, times

#: Usual names of the two ends, in small letters and digits, the most telling first.
ENDS = (
    ("source", "target"),
    ("src", "dst"),
    ("src", "dest"),
    ("from", "to"),
    ("sourceid", "targetid"),
    ("srcid", "dstid"),
    ("fromid", "toid"),
    ("fromnode", "tonode"),
    ("sourcenode", "targetnode"),
    ("fromnodeid", "tonodeid"),
    ("id1", "id2"),
    ("node1", "node2"),
    ("node1id", "node2id"),
    ("nodeid1", "nodeid2"),
    ("numericid1", "numericid2"),
    ("user1", "user2"),
    ("user1id", "user2id"),
    ("userid1", "userid2"),
    ("source", "destination"),
    ("origin", "destination"),
    ("sender", "receiver"),
    ("citing", "cited"),
    ("follower", "followee"),
    ("parent", "child"),
    ("start", "end"),
    ("head", "tail"),
    ("left", "right"),
    ("u", "v"),
    ("i", "j"),
    ("a", "b"),
    ("x", "y"),
    ("row", "col"),
)
WEIGHT = "weight"
TIMES = ("time", "timestamp", "datetime", "date", "ts", "createdat")

_USUAL = frozenset(name for pair in ENDS for name in pair)


@dataclass(frozen=True)
class Edges:
    """Edges with the ids of their ends; ``rows`` are their places in the file, if some were left out."""

    table: Table
    source: pl.Series
    target: pl.Series
    source_column: str
    target_column: str
    weight: NDArray[np.float64] | None
    weight_column: str | None
    span: tuple[str, str] | None
    """First and last time, as text."""
    read: int
    """Edges in the file."""
    rows: NDArray[np.int64] | None
    notes: list[str]

    def row(self, place: int) -> int:
        """The row in the file of an edge."""
        return place if self.rows is None else int(self.rows[place])


def read_edge_file(path: Path, directed: bool = False) -> GraphFile:
    """The edges in a file of any kind, with what it says about nodes."""
    suffix = check_file(path, (*SUFFIXES, *GRAPHS))
    if suffix in GRAPHS:
        return read_graph_file(path, directed)
    table = open_table(path, _USUAL)
    notes = []
    named = any(plain(name) in _USUAL and len(name) > 1 for name in table.columns)
    if not table.headless and len(table.columns) == 2 and not named:
        # Two unusual names, or letters: a header, or already the first edge? An edge, if one is a node further down.
        frame = table.read().cast(pl.String)
        if any(bool(frame[column].str.strip_chars().is_in(list(table.columns)).any()) for column in table.columns):
            table = open_table(path, header=False)
            notes = [f"{path} has no header: its first line is taken as an edge."]
    return GraphFile(table, notes=notes)


def edges_of(
    table: Table,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    time: str | None = None,
    since: str | None = None,
    until: str | None = None,
    ignore: Sequence[str] = (),
) -> Edges:
    """The edges in a table; names that are not given are guessed from usual ones."""
    source, target, notes = choose_ends(table, source, target)
    if weight is None:
        weight = next((c for c in _rest(table, source, target, ignore) if plain(c) == WEIGHT), None)
        if weight is not None:
            notes.append(f"The column {weight!r} is taken as the weight of edges; --ignore {weight} leaves it out.")
    else:
        table.check(weight, "--weight")
    if time is None and (since or until):
        time = next((c for c in _rest(table, source, target, ignore) if plain(c) in TIMES), None)
        if time is None:
            raise InputError(f"{table.name}: none of {listed(table.columns)} is a usual name of a time; give --time")
        notes.append(f"The column {time!r} is taken as the time of edges.")
    elif time is not None:
        table.check(time, "--time")
    unused = [c for c in _rest(table, source, target, ignore) if c not in (weight, time)]
    if unused:
        notes.append(f"Of the edges only {listed([c for c in (source, target, weight, time) if c])} are used.")

    begin, end = table.ids(source), table.ids(target)
    values = None if weight is None else _weights(table, weight)
    read, rows, span = len(begin), None, None
    if time is not None:
        kept, span, untimed = _within(table, time, since, until)
        if untimed:
            notes.append(
                f"{untimed:,} edges have no time, and are left out."
                if since or until
                else f"{untimed:,} edges have no time."
            )
        if not kept.all():
            rows = np.flatnonzero(kept)
            begin, end = begin.filter(pl.Series(kept)), end.filter(pl.Series(kept))
            values = None if values is None else values[kept]
    return Edges(table, begin, end, source, target, values, weight, span, read, rows, notes)


def choose_ends(table: Table, source: str | None, target: str | None) -> tuple[str, str, list[str]]:
    """The columns of an edge's ends, and what was guessed."""
    if source is not None:
        table.check(source, "--source")
    if target is not None:
        table.check(target, "--target")
    if source is not None and source == target:
        raise InputError(f"{table.name}: source and target are both the column {source!r}; give two")
    if source is not None and target is not None:
        return source, target, []
    by_name = {plain(column): column for column in reversed(table.columns)}
    for first, second in ENDS:
        found = source or by_name.get(first), target or by_name.get(second)
        fits = (source is None or plain(source) == first) and (target is None or plain(target) == second)
        if fits and found[0] is not None and found[1] is not None and found[0] != found[1]:
            return found[0], found[1], [f"The ends of edges are the columns {found[0]!r} and {found[1]!r}."]
    others = [column for column in table.columns if column not in (source, target)]
    if len(table.columns) == 2 or (table.headless and len(table.columns) > 2):
        begin = source or others.pop(0)
        return begin, target or others[0], [f"The ends of edges are the columns {begin!r} and {target or others[0]!r}."]
    if len(table.columns) < 2:
        raise InputError(
            f"{table.name}: has the column {listed(table.columns)} only, expected two with the ends of edges; "
            "check what separates the columns"
        )
    asked = "--source and --target" if source is None and target is None else "--target" if source else "--source"
    raise InputError(f"{table.name}: none of {listed(table.columns)} are usual names of an edge's ends; give {asked}")


def _rest(table: Table, source: str, target: str, ignore: Sequence[str]) -> list[str]:
    return [column for column in table.columns if column not in (source, target, *ignore)]


def _weights(table: Table, column: str) -> NDArray[np.float64]:
    remedy = f"; mend it, drop the row, or --ignore {column} for edges without weights"
    cells = table.read([column])[column]
    try:
        values = numbers(cells)
    except CellError as error:
        raise table.located(error, remedy) from error
    bad = (values.is_null() | (values <= 0)).arg_true()
    if len(bad):
        row = int(bad[0])
        given = "is missing" if cells[row] is None else f"given {shown(cells[row])}"
        raise table.error(row, column, f"{given}, expected a positive weight{remedy}")
    return values.to_numpy()


def _within(
    table: Table, column: str, since: str | None, until: str | None
) -> tuple[NDArray[np.bool_], tuple[str, str] | None, int]:
    """Which edges are of the time from ``since`` to before ``until``; the times' range; how many have none."""
    cells = table.read([column])[column]
    form = None
    try:
        if is_time(cells) or (not cells.dtype.is_numeric() and number_share(cells) <= 0.5):
            form = None if is_time(cells) else date_form(cells)
            values, numeric = times(cells, form), False
        else:
            values, numeric = numbers(cells), True
    except CellError as error:
        raise table.located(error, "; mend it or drop the row") from error
    kept = pl.repeat(True, len(values), eager=True)
    for option, bound in (("since", since), ("until", until)):
        if bound is not None:
            limit = _bound(table, column, option, bound, numeric)
            kept &= ((values >= limit) if option == "since" else (values < limit)).fill_null(False)
    if not kept.any():
        raise InputError(
            f"{table.name}: no edge has a {column!r} from {since or 'the first'} to before {until or 'the end'}: "
            f"they are from {_time(values.min())} to {_time(values.max())}; widen --since and --until"
        )
    left = values.filter(kept)
    span = None if left.null_count() == len(left) else (_time(left.min()), _time(left.max()))
    return kept.to_numpy(), span, values.null_count()


def _bound(table: Table, column: str, option: str, bound: str, numeric: bool) -> object:
    given = pl.Series(option, [bound])
    try:
        return numbers(given)[0] if numeric else times(given, date_form(given))[0]
    except CellError as error:
        kind = "a number" if numeric else "a date such as 2021-04-03"
        raise InputError(f"--{option}: given {bound!r}, expected {kind}, as {table.name} has in {column!r}") from error


def _time(value: Any) -> str:
    return format(value, ".15g") if isinstance(value, float) else str(value).removesuffix(" 00:00:00")
