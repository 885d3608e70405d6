"""Whose a node is: tables that say which graph a row is of, and the graph of each node that follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from girl.tables.table import Table
from girl.tables.user_graph import Built
from girl.tables.values import CellError, shown


@dataclass(frozen=True)
class Part:
    """A table without its column of graphs."""

    table: Table
    graph: pl.Series | None
    """The graph of each row; None if the table does not say."""


def part_of(table: Table, column: str | None, graph: pl.Series | None) -> Part:
    """The table, with the graph of each row as given, or as its column says."""
    if graph is None and column is not None and column in table.columns:
        graph = table.ids(column)
        table = replace(table, columns=tuple(name for name in table.columns if name != column))
    return Part(table, graph)


def within(part: Part) -> Table:
    """The table with ids that tell graphs apart: the graph's name, a stroke, and the id."""
    assert part.graph is not None
    name = part.graph.cast(pl.String).str.replace_all(r"([\\/])", r"\$1")

    def load_ids(column: str) -> pl.Series:
        found = part.table.load_ids(column).cast(pl.String)
        return pl.select(pl.concat_str([name, found], separator="/")).to_series().alias(column)

    return replace(part.table, load_ids=load_ids)


def graph_of(ids: pl.Series) -> pl.Series:
    """The graphs' names in ids that :func:`within` made."""
    return ids.str.extract(r"^((?s:[^\\/]|\\.)*)/").str.replace_all(r"(?s)\\(.)", "$1")


def codes_of(names: pl.Series, seen: pl.Series) -> NDArray[np.int64]:
    """The places of names among those seen; -1 for others."""
    texts = seen.cast(pl.String).to_list()
    found = names.cast(pl.String).replace_strict(texts, range(len(texts)), default=-1, return_dtype=pl.Int64)
    return found.fill_null(-1).to_numpy()


def by_nodes(built: Built, nodes: Sequence[Part], seen: pl.Series, column: str) -> NDArray[np.int64]:
    """The graph of each node where only node tables say it: the ends of an edge must be of the same."""
    ids, edges = built.graph.ids, built.edges
    owner = np.full(len(ids), -1)
    for part, rows in zip(nodes, built.nodes.rows, strict=True):
        if part.graph is None:
            continue
        found = part.graph if rows is None else part.graph.gather(rows)
        codes, before = codes_of(found, seen), owner[: len(found)]
        differ = np.flatnonzero((codes >= 0) & (before >= 0) & (codes != before))
        if len(differ):
            at = int(differ[0])
            row = at if rows is None else int(rows[at])
            problem = (
                f"given {shown(found[at])}, but another table says {shown(seen[int(before[at])])}; mend one of them"
            )
            raise part.table.error(row, column, problem)
        owner[: len(found)] = np.where(before < 0, codes, before)
    for places, end in ((built.source, edges.source_column), (built.target, edges.target_column)):
        lost = np.flatnonzero(owner[places] < 0)
        if len(lost):
            at = int(lost[0])
            raise edges.table.error(
                edges.row(at),
                end,
                f"the node {shown(ids[int(places[at])])} has no row that says its graph ({len(lost):,} such edges); "
                f"add it to {built.nodes.name}, or the column {column!r} to the edges",
            )
    across = np.flatnonzero(owner[built.source] != owner[built.target])
    if len(across):
        at = int(across[0])
        ends = [int(built.source[at]), int(built.target[at])]
        one, other = (f"{shown(ids[end])} is of the graph {shown(seen[int(owner[end])])}" for end in ends)
        raise edges.table.error(
            edges.row(at),
            edges.target_column,
            f"joins two graphs ({len(across):,} such edges): {one}, {other}; drop the edge, or, if ids repeat in other "
            f"graphs, give the edges the column {column!r} too",
        )
    _check_owned(built, owner, f"no table says its graph; fill in the column {column!r}")
    return owner


def by_edges(built: Built, graph: pl.Series, seen: pl.Series, column: str) -> NDArray[np.int64]:
    """The graph of each node where only edges say it: all edges of a node must be of the same."""
    ids, edges = built.graph.ids, built.edges
    owner = np.full(len(ids), -1)
    codes = codes_of(graph, seen)
    claims = np.repeat(codes if edges.rows is None else codes[edges.rows], 2)
    ends = np.stack([built.source, built.target], 1).ravel()
    places, first = np.unique(ends, return_index=True)
    owner[places] = claims[first]
    differ = np.flatnonzero(owner[ends] != claims)
    if len(differ):
        at = int(differ[0])
        before = edges.table.line(edges.row(int(first[np.searchsorted(places, ends[at])]) // 2))
        raise edges.table.error(
            edges.row(at // 2),
            (edges.source_column, edges.target_column)[at % 2],
            f"the node {shown(ids[int(ends[at])])} is of the graph {shown(seen[int(claims[at])])} here, of "
            f"{shown(seen[int(owner[ends[at]])])} in row {before}; if ids repeat in other graphs, give "
            f"{built.nodes.name} the column {column!r} too",
        )
    _check_owned(built, owner, f"it is no end of an edge, so that its graph is not known; add a column {column!r}")
    return owner


def _check_owned(built: Built, owner: NDArray[np.int64], problem: str) -> None:
    lost = np.flatnonzero(owner < 0)
    if len(lost):
        node = shown(built.graph.ids[int(lost[0])])
        raise built.nodes.located(
            CellError(int(lost[0]), built.nodes.id_columns[0], f"the node {node} ({len(lost):,} such nodes): {problem}")
        )
