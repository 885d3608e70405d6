"""Which graph each node belongs to, for tables of a set of graphs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from girl.tables.cells import CellError
from girl.tables.edges import Edges
from girl.tables.messages import shown
from girl.tables.node_table import NodeTable
from girl.tables.table import Table


def with_graph_in_ids(table: Table) -> Table:
    """The table with ids that are unique over all graphs: the graph's name, a slash and the id."""
    assert table.graph is not None
    graph = table.graph.cast(pl.String).str.replace_all(r"([\\/])", r"\$1")

    def load_ids(column: str) -> pl.Series:
        ids = table.load_ids(column).cast(pl.String)
        return pl.select(pl.concat_str([graph, ids], separator="/")).to_series().alias(column)

    return replace(table, load_ids=load_ids)


def graph_in_ids(ids: pl.Series) -> pl.Series:
    """The names of the graphs in ids that :func:`with_graph_in_ids` made."""
    return ids.str.extract(r"^((?s:[^\\/]|\\.)*)/").str.replace_all(r"(?s)\\(.)", "$1")


def codes_of(names: pl.Series, graphs: pl.Series) -> NDArray[np.int64]:
    """The position of each name in ``graphs``; -1 for a name that is not there."""
    texts = graphs.cast(pl.String).to_list()
    codes = names.cast(pl.String).replace_strict(texts, range(len(texts)), default=-1, return_dtype=pl.Int64)
    return codes.fill_null(-1).to_numpy()


def membership_from_nodes(nodes: NodeTable, edges: Edges, graphs: pl.Series, column: str) -> NDArray[np.int64]:
    """The graph of each node if only node tables have the column: both ends of an edge must have the same."""
    member = np.full(len(nodes.ids), -1)
    for table, rows in zip(nodes.tables, nodes.rows, strict=True):
        if table.graph is None:
            continue
        names = table.graph if rows is None else table.graph.gather(rows)
        codes, before = codes_of(names, graphs), member[: len(names)]
        conflicts = np.flatnonzero((codes >= 0) & (before >= 0) & (codes != before))
        if len(conflicts):
            node = int(conflicts[0])
            problem = f"given {shown(names[node])}, but another table has {shown(graphs[int(before[node])])}"
            raise table.error(node if rows is None else int(rows[node]), column, f"{problem}; correct one of them")
        member[: len(names)] = np.where(before < 0, codes, before)
    for ends, end_column in ((nodes.source, edges.source_column), (nodes.target, edges.target_column)):
        unknown = np.flatnonzero(member[ends] < 0)
        if len(unknown):
            raise edges.error(
                int(unknown[0]),
                end_column,
                f"the node {shown(nodes.ids[int(ends[unknown[0]])])} has no row with its graph ({len(unknown):,} such "
                f"edges); add it to {nodes.name}, or the column {column!r} to the edges",
            )
    across = np.flatnonzero(member[nodes.source] != member[nodes.target])
    if len(across):
        edge = int(across[0])
        one, other = (
            f"{shown(nodes.ids[int(end)])} is in the graph {shown(graphs[int(member[end])])}"
            for end in (nodes.source[edge], nodes.target[edge])
        )
        raise edges.error(
            edge,
            edges.target_column,
            f"joins two graphs ({len(across):,} such edges): {one}, {other}; drop the edge, or, if ids repeat in other "
            f"graphs, give the edges the column {column!r} too",
        )
    _check_known(nodes, member, f"no table has its graph; fill in the column {column!r}")
    return member


def membership_from_edges(nodes: NodeTable, edges: Edges, graphs: pl.Series, column: str) -> NDArray[np.int64]:
    """The graph of each node if only the edges have the column: all edges of a node must have the same."""
    assert edges.table.graph is not None
    member = np.full(len(nodes.ids), -1)
    codes = codes_of(edges.table.graph, graphs)
    claimed = np.repeat(codes if edges.rows is None else codes[edges.rows], 2)
    ends = np.stack([nodes.source, nodes.target], 1).ravel()
    seen, first = np.unique(ends, return_index=True)
    member[seen] = claimed[first]
    conflicts = np.flatnonzero(member[ends] != claimed)
    if len(conflicts):
        end = int(conflicts[0])
        line = edges.table.line(edges.row(int(first[np.searchsorted(seen, ends[end])]) // 2))
        raise edges.error(
            end // 2,
            (edges.source_column, edges.target_column)[end % 2],
            f"the node {shown(nodes.ids[int(ends[end])])} is in the graph {shown(graphs[int(claimed[end])])} here, in "
            f"{shown(graphs[int(member[ends[end]])])} in row {line}; if ids repeat in other graphs, give {nodes.name} "
            f"the column {column!r} too",
        )
    _check_known(nodes, member, f"it is no end of an edge, so that its graph is not known; add a column {column!r}")
    return member


def _check_known(nodes: NodeTable, member: NDArray[np.int64], problem: str) -> None:
    unknown = np.flatnonzero(member < 0)
    if len(unknown):
        node = int(unknown[0])
        text = f"the node {shown(nodes.ids[node])} ({len(unknown):,} such nodes): {problem}"
        raise nodes.located(CellError(node, nodes.id_columns[0], text))
