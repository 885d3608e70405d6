"""A user's set of graphs: tables with a column that names the graph of each row, or a folder with a file per graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from girl.errors import InputError
from girl.tables.cells import CellError
from girl.tables.column_names import is_id_name
from girl.tables.graph_files import GraphTables
from girl.tables.graph_membership import (
    codes_of,
    graph_in_ids,
    membership_from_edges,
    membership_from_nodes,
    with_graph_in_ids,
)
from girl.tables.messages import listed, shown
from girl.tables.node_table import NodeTable, to_common_type
from girl.tables.settings import InputSettings
from girl.tables.sources import Source, check_source, no_nodes_error, open_graph, open_source
from girl.tables.table import Table
from girl.tables.table_encoder import TableEncoder
from girl.tables.user_graph import Counts, UserGraph, build_graph

#: Texts that never repeat within a graph are taken as names of nodes if a graph has at least this many nodes.
NAMED = 5


def read_graph_set(
    edges: Source,
    nodes: Source | Sequence[Source] | None = None,
    graphs: Source | None = None,
    settings: InputSettings | None = None,
    encoder: TableEncoder | None = None,
) -> UserGraph:
    """Read a set of graphs.

    If the edges and all node tables have the column ``settings.graph``, a node is identified by its graph and its id,
    so that ids may repeat in other graphs; if one of them lacks it, each id belongs to one graph.

    Args:
        edges: a frame or file of edges, or a folder with a file for each graph, which is named as the file.
        nodes: frames or files with a row for each node.
        graphs: a frame or file with a row for each graph, in the order of the result. Without it, graphs come in the
            order in which they appear, those of the node table first; those of a folder by name.
        settings: which columns are used, and how; ``label`` may be a column of ``graphs``, or one of a node table that
            is the same for all nodes of a graph.
        encoder: the fitted encoder of a saved model; a new one is fitted if None.
    """
    settings = settings or InputSettings()
    column, named = settings.graph, (*settings.columns, *settings.text, *settings.ignore)
    if column is not None and column in (settings.label, *named):
        raise InputError(
            f"--graph: {column!r} is also given as a label or a feature, or to be ignored; it holds the graph of each "
            "row and is never a feature"
        )
    if graphs is not None:
        check_source(graphs, edges, "graphs")
    tables = _with_graphs(open_graph(edges, nodes, settings), column)
    graph_table = None if graphs is None else open_source(graphs, "graphs")
    label = _node_label(settings.label, tables.nodes, graph_table)
    names = [name for table in tables.nodes for name in _node_names(table) if name not in (label, *named)]
    every = _all_graphs(tables, column or "graph")

    has_graph = [table.graph is not None for table in (*tables.nodes, tables.edges)]
    if all(has_graph):
        scoped = tuple(with_graph_in_ids(table) for table in tables.nodes)
        tables = replace(tables, edges=with_graph_in_ids(tables.edges), nodes=scoped)
    node_settings = replace(settings, label=label, ignore=(*settings.ignore, *names))
    graph, read_edges, read_nodes = build_graph(tables, node_settings, encoder)
    notes = [
        f"The column {name!r} is left out: it names the nodes of each graph; --columns with its name uses it."
        for name in names
        if name not in read_nodes.id_columns and encoder is None
    ]
    if all(has_graph):
        member = codes_of(graph_in_ids(graph.ids), every)
    else:
        membership = membership_from_edges if has_graph[-1] else membership_from_nodes
        member = membership(read_nodes, read_edges, every, column or "")

    sizes = np.bincount(member, minlength=len(every))
    order, table, more_notes, counts = _graph_rows(every, graph_table, settings, sizes, tables.files)
    rank = np.full(len(every), -1)
    rank[order] = np.arange(len(order))
    graph_of = rank[member]
    if label is not None and label not in table.columns:
        table = table.with_columns(_label_of_graphs(label, graph, read_nodes, graph_of))
    return replace(
        graph,
        ids=table.to_series(0),
        data=_group(graph.data, graph_of, len(order)),
        table=table,
        label=settings.label,
        counts=_set_counts(graph.counts, counts, np.bincount(graph_of)),
        notes=graph.notes + notes + more_notes,
    )


def _with_graphs(tables: GraphTables, column: str | None) -> GraphTables:
    """The tables with the graph of each row; an error if too few of them have it."""
    edges, nodes = tables.edges.with_graph(column), tuple(table.with_graph(column) for table in tables.nodes)
    if column is None and edges.graph is None:
        raise InputError(f"{edges.name}: given as a set of graphs, expected --graph with the column that tells them")
    without = [table for table in nodes if table.graph is None]
    # Node tables must have it if the edges are in a folder, and all of them if the edges and one of them have it.
    if column and without and (tables.files or (edges.graph is not None and len(without) < len(nodes))):
        without[0].check(column, "--graph")
    if column is not None and edges.graph is None and len(without) == len(nodes):
        similar = [table for table in (edges, *without) if table.suggest(column).startswith("did you mean")]
        (similar or [edges])[0].check(column, "--graph")
    return replace(tables, edges=edges, nodes=nodes)


def _node_label(label: str | None, nodes: Sequence[Table], graph_table: Table | None) -> str | None:
    """The column of labels if a node table has it: it is no feature then, also if the table of graphs has it too."""
    if label is None or any(label in table.columns for table in nodes):
        return label
    if graph_table is None and not nodes:
        raise InputError(
            f"--label: given {label!r}, but there is no table of graphs or nodes; give one by --graphs or --nodes"
        )
    (graph_table or nodes[0]).check(label, "--label")
    return None


def _node_names(table: Table) -> list[str]:
    """Columns of text or ids that differ for all nodes of a graph and repeat in others: names, not categories."""
    if table.graph is None or not (table.graph.value_counts()["count"] >= NAMED).any():
        return []
    names = []
    for column in table.read():
        text_or_id = column.dtype == pl.String or (column.dtype.is_integer() and is_id_name(column.name))
        if text_or_id and column.drop_nulls().is_duplicated().any():
            cells = pl.DataFrame([table.graph.alias("graph"), column.alias("cell")]).drop_nulls()
            if not cells.is_duplicated().any():
                names.append(column.name)
    return names


def _all_graphs(tables: GraphTables, column: str) -> pl.Series:
    """The names of all graphs: of a folder's files, else in the order in which they appear in the tables."""
    every = (*tables.nodes, tables.edges)
    if not tables.files:
        names = to_common_type([table.graph for table in every if table.graph is not None])
        return pl.concat([graph.rename("graph") for graph in names]).unique(maintain_order=True)
    files = list(tables.files)
    for table in every:
        assert table.graph is not None
        unknown = (~table.graph.cast(pl.String).is_in(files)).arg_true()
        if len(unknown):
            row = int(unknown[0])
            problem = f"no file is called {shown(table.graph[row])}, as {files[0]!r} is ({len(unknown):,} such rows)"
            raise table.error(row, column, f"{problem}; drop the row or add the file")
    return pl.Series("graph", files)


def _graph_rows(
    every: pl.Series, table: Table | None, settings: InputSettings, sizes: NDArray[np.int64], files: dict[str, Path]
) -> tuple[NDArray[np.int64], pl.DataFrame, list[str], Counts]:
    """The graphs of the result: positions among all graphs, ids and columns, notes and counts."""
    for path, size in zip(files.values(), sizes, strict=False):
        if not size:
            raise no_nodes_error(path)
    name = settings.graph or "graph"
    if table is None:
        order = np.flatnonzero(sizes)
        notes = _empty_graphs_note(every.gather(np.flatnonzero(sizes == 0)))
        return order, every.gather(order).alias(name).to_frame(), notes, {}
    column = name if name in table.columns else table.columns[0]
    ids, every = to_common_type([table.unique_ids(column), every])
    row = codes_of(every, ids)
    if not (row >= 0).any():
        raise InputError(
            f"{table.name}: no id of column {column!r}, such as {shown(ids[0])}, is a graph, such as "
            f"{shown(every[0])}; choose the column by --graph, or check that the files belong together"
        )
    unlisted = np.flatnonzero((row < 0) & (sizes > 0))
    if len(unlisted) and settings.strict:
        raise InputError(
            f"{table.name}: has no row for the graph {shown(every[int(unlisted[0])])} ({len(unlisted):,} such graphs); "
            "add it there, or leave out --strict"
        )
    in_table = np.flatnonzero((row >= 0) & (sizes > 0))
    in_table = in_table[np.argsort(row[in_table], kind="stable")]
    order = np.concatenate([in_table, unlisted])
    notes = _empty_graphs_note(ids.filter(~pl.Series(np.isin(np.arange(len(ids)), row[in_table]))))
    rows = pl.Series([*row[in_table].tolist(), *[None] * len(unlisted)], dtype=pl.Int64)
    rest = table.read([other for other in table.columns if other != column])
    rest = rest.select(pl.all().gather(rows)) if rest.width else pl.DataFrame()
    rest = rest.insert_column(0, every.gather(order).alias(name))
    return order, rest, notes, {"graph file": table.name, "graphs not in it": len(unlisted)}


def _empty_graphs_note(ids: pl.Series) -> list[str]:
    words = "graph has no nodes and is" if len(ids) == 1 else "graphs have no nodes and are"
    return [f"{len(ids):,} {words} left out: {listed(ids.cast(pl.String).to_list(), 3)}."] if len(ids) else []


def _group(data: Data, graph_of: NDArray[np.int64], num_graphs: int) -> Data:
    """The nodes sorted by graph."""
    order = np.argsort(graph_of, kind="stable")
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    x = data.x
    if x is not None:
        x = (x if x.layout == torch.strided else x.to_dense())[torch.from_numpy(order)]
    return Data(
        x=x,
        edge_index=torch.from_numpy(position)[data.edge_index],
        edge_weight=data.edge_weight,
        graph=torch.from_numpy(graph_of[order]),
        graphs=num_graphs,
        num_nodes=len(order),
    )


def _set_counts(node_counts: Counts, graph_counts: Counts, sizes: NDArray[np.int64]) -> Counts:
    """The counts of all nodes and edges, with those of graphs before them."""
    counts: Counts = {}
    for name, value in node_counts.items():
        if name == "nodes":
            counts |= graph_counts | {"graphs": len(sizes)}
            counts["nodes in a graph"] = f"{sizes.min():,} to {sizes.max():,}, {sizes.mean():.1f} on average"
        if name not in ("components", "largest component"):
            counts[name] = value
    return counts


def _label_of_graphs(label: str, graph: UserGraph, nodes: NodeTable, graph_of: NDArray[np.int64]) -> pl.Series:
    """The label of each graph, which all its nodes must share."""
    frame = pl.DataFrame({"graph": graph_of, "row": np.arange(len(graph_of)), "label": graph.table[label]})
    labeled = frame.drop_nulls("label").with_columns(first=pl.col("label").first().over("graph"))
    different = labeled.filter(pl.col("label") != pl.col("first"))
    if different.height:
        row, value, first = (different[name][0] for name in ("row", "label", "first"))
        problem = (
            f"given {shown(value)} where another node of the same graph has {shown(first)}; expected one label for a "
            "graph: choose another column by --label, or give a table of graphs by --graphs"
        )
        raise nodes.located(CellError(row, label, problem))
    graphs = pl.DataFrame({"graph": np.arange(int(graph_of.max()) + 1)})
    labels = labeled.group_by("graph", maintain_order=True).agg(pl.col("label").first())
    return graphs.join(labels, on="graph", how="left", maintain_order="left")["label"].alias(label)
