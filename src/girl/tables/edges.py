"""The edges in a table: which columns hold the ends, the weights and the times, and which rows are used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from girl.errors import InputError
from girl.tables.cells import CellError, guess_date_format, is_time, mostly_numbers, to_numbers, to_times
from girl.tables.column_names import END_PAIRS, TIMES, WEIGHT, simple_name
from girl.tables.messages import listed, shown
from girl.tables.settings import InputSettings
from girl.tables.table import Table


@dataclass(frozen=True)
class Edges:
    """The edges that are used, with the ids of their ends."""

    table: Table
    source: pl.Series
    target: pl.Series
    source_column: str
    target_column: str
    weight: NDArray[np.float64] | None
    weight_column: str | None
    time_range: tuple[str, str] | None
    """First and last time, as text."""
    num_read: int
    """Edges in the file."""
    rows: NDArray[np.int64] | None
    """The table's row of each edge, if some were left out."""
    notes: list[str]

    def row(self, edge: int) -> int:
        """The table's row of an edge."""
        return edge if self.rows is None else int(self.rows[edge])

    def error(self, edge: int, column: str, problem: str) -> InputError:
        """An error about one edge, with its file and line."""
        return self.table.error(self.row(edge), column, problem)


def select_edges(table: Table, settings: InputSettings) -> Edges:
    """The edges in a table; columns that the settings do not name are guessed from usual names."""
    source, target, notes = choose_ends(table, settings.source, settings.target)
    rest = [column for column in table.columns if column not in (source, target, *settings.ignore)]
    weight, time = settings.weight, settings.time
    if weight is None:
        weight = next((column for column in rest if simple_name(column) == WEIGHT), None)
        if weight is not None:
            notes.append(f"The column {weight!r} is taken as the weight of edges; --ignore {weight} leaves it out.")
    else:
        table.check(weight, "--weight")
    if time is None and (settings.since or settings.until):
        time = next((column for column in rest if simple_name(column) in TIMES), None)
        if time is None:
            raise InputError(f"{table.name}: none of {listed(table.columns)} is a usual name of a time; give --time")
        notes.append(f"The column {time!r} is taken as the time of edges.")
    elif time is not None:
        table.check(time, "--time")
    if any(column not in (weight, time) for column in rest):
        notes.append(f"Of the edges only {listed([c for c in (source, target, weight, time) if c])} are used.")

    sources, targets = table.ids(source), table.ids(target)
    weights = None if weight is None else _read_weights(table, weight)
    num_read, rows, time_range = len(sources), None, None
    if time is not None:
        used, time_range, untimed = _select_times(table, time, settings.since, settings.until)
        if untimed:
            left_out = ", and are left out" if settings.since or settings.until else ""
            notes.append(f"{untimed:,} edges have no time{left_out}.")
        if not used.all():
            rows = np.flatnonzero(used)
            sources, targets = sources.filter(pl.Series(used)), targets.filter(pl.Series(used))
            weights = None if weights is None else weights[used]
    return Edges(table, sources, targets, source, target, weights, weight, time_range, num_read, rows, notes)


def choose_ends(table: Table, source: str | None, target: str | None) -> tuple[str, str, list[str]]:
    """The columns of source and target, and a note if one was guessed."""
    if source is not None:
        table.check(source, "--source")
    if target is not None:
        table.check(target, "--target")
    if source is not None and source == target:
        raise InputError(f"{table.name}: source and target are both the column {source!r}; give two")
    if source is not None and target is not None:
        return source, target, []
    if len(table.columns) < 2:
        raise InputError(
            f"{table.name}: has the column {listed(table.columns)} only, expected two with the ends of edges; "
            "check what separates the columns"
        )
    first, second = _guess_ends(table, source, target)
    return first, second, [f"The ends of edges are the columns {first!r} and {second!r}."]


def _guess_ends(table: Table, source: str | None, target: str | None) -> tuple[str, str]:
    by_name = {simple_name(column): column for column in reversed(table.columns)}
    for first_name, second_name in END_PAIRS:
        first, second = source or by_name.get(first_name), target or by_name.get(second_name)
        fits = source is None or simple_name(source) == first_name
        fits = fits and (target is None or simple_name(target) == second_name)
        if fits and first is not None and second is not None and first != second:
            return first, second
    if len(table.columns) == 2 or not table.has_header:
        others = [column for column in table.columns if column not in (source, target)]
        return source or others.pop(0), target or others[0]
    options = "--source and --target" if source is None and target is None else "--target" if source else "--source"
    raise InputError(f"{table.name}: none of {listed(table.columns)} are usual names of an edge's ends; give {options}")


def _read_weights(table: Table, column: str) -> NDArray[np.float64]:
    remedy = f"; correct it, drop the row, or --ignore {column} for edges without weights"
    cells = table.read([column])[column]
    try:
        values = to_numbers(cells)
    except CellError as error:
        raise table.located(error, remedy) from error
    wrong = (values.is_null() | (values <= 0)).arg_true()
    if len(wrong):
        row = int(wrong[0])
        problem = "is missing" if cells[row] is None else f"given {shown(cells[row])}"
        raise table.error(row, column, f"{problem}, expected a positive weight{remedy}")
    return values.to_numpy()


def _select_times(
    table: Table, column: str, since: str | None, until: str | None
) -> tuple[NDArray[np.bool_], tuple[str, str] | None, int]:
    """Which edges are at or after ``since`` and before ``until``; the range of their times; how many have none."""
    cells = table.read([column])[column]
    numeric = cells.dtype.is_numeric() or (not is_time(cells) and mostly_numbers(cells))
    try:
        values = to_numbers(cells) if numeric else to_times(cells, None if is_time(cells) else guess_date_format(cells))
    except CellError as error:
        raise table.located(error, "; correct it or drop the row") from error
    used = pl.repeat(True, len(values), eager=True)
    if since is not None:
        used &= (values >= _limit(table, column, "since", since, numeric)).fill_null(False)
    if until is not None:
        used &= (values < _limit(table, column, "until", until, numeric)).fill_null(False)
    if not used.any():
        raise InputError(
            f"{table.name}: no edge has a {column!r} from {since or 'the first'} to before {until or 'the end'}: "
            f"they are from {_time_text(values.min())} to {_time_text(values.max())}; widen --since and --until"
        )
    times = values.filter(used)
    time_range = None if times.null_count() == len(times) else (_time_text(times.min()), _time_text(times.max()))
    return used.to_numpy(), time_range, values.null_count()


def _limit(table: Table, column: str, option: str, value: str, numeric: bool) -> Any:
    cell = pl.Series(option, [value])
    try:
        return to_numbers(cell)[0] if numeric else to_times(cell, guess_date_format(cell))[0]
    except CellError as error:
        kind = "a number" if numeric else "a date such as 2021-04-03"
        raise InputError(f"--{option}: given {value!r}, expected {kind}, as {table.name} has in {column!r}") from error


def _time_text(value: Any) -> str:
    return format(value, ".15g") if isinstance(value, float) else str(value).removesuffix(" 00:00:00")
