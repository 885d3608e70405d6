"""A user's graph: the tables of its edges and nodes as one object to train on, with a summary of what was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import polars as pl
import scipy.sparse
import torch
from scipy.sparse.csgraph import connected_components
from torch_geometric.data import Data

from girl.errors import InputError
from girl.graph.adjacency import unique_edges
from girl.kernel.sparse import to_csr_or_dense
from girl.tables.cells import CellError
from girl.tables.edges import Edges, select_edges
from girl.tables.graph_files import GraphTables
from girl.tables.messages import listed
from girl.tables.node_table import NodeTable, match_nodes
from girl.tables.settings import InputSettings
from girl.tables.sources import Source, open_graph
from girl.tables.table_encoder import TableEncoder

#: What a summary shows, in order.
Counts: TypeAlias = dict[str, int | float | str]


@dataclass(frozen=True)
class UserGraph:
    """A graph, or a set of graphs, that was read from a user's files or frames."""

    ids: pl.Series
    """Ids of the n nodes as given, integers or text, named as in the node table: first those of the node table in its
    order, then all others, sorted. For a set of graphs: the ids of the graphs."""
    data: Data
    """``x`` (n × d, CSR or dense; None without features), ``edge_index`` (2 × m, each edge once, no self-loops),
    ``edge_weight`` (m; None without weights); for a set, also ``graph`` (n, sorted) and ``graphs``, their number."""
    table: pl.DataFrame
    """A row for each id: the node table, or the table of graphs; null for ids that it lacks."""
    label: str | None
    """The column of ``table`` with labels."""
    directed: bool
    encoder: TableEncoder | None
    """The fitted encoder that made ``x``; None without features."""
    counts: Counts
    notes: list[str]
    """What the user should know: guesses, and columns that were left out and why."""

    @property
    def is_set(self) -> bool:
        """Whether it is a set of graphs."""
        return "graph" in self.data


def read_graph(
    edges: Source | GraphTables,
    nodes: Source | Sequence[Source] | None = None,
    settings: InputSettings | None = None,
    encoder: TableEncoder | None = None,
) -> UserGraph:
    """Read one graph.

    Args:
        edges: a frame, or a file: .csv, .tsv, .txt, JSON lines (all also with .gz), .parquet, .npz, .pt, .graphml or
            .gml; or the result of :func:`~girl.tables.graph_files.networkx_tables`.
        nodes: a frame or file with an id column, or several for the same nodes, such as features.json and target.csv.
        settings: which columns are used, and how.
        encoder: the fitted encoder of a saved model; a new one is fitted if None.
    """
    settings = settings or InputSettings()
    return build_graph(open_graph(edges, nodes, settings), settings, encoder)[0]


def build_graph(
    tables: GraphTables, settings: InputSettings, encoder: TableEncoder | None = None
) -> tuple[UserGraph, Edges, NodeTable]:
    """The graph in tables, with its edges and nodes as they were read."""
    notes = list(tables.notes)
    if tables.directed and not settings.directed:
        notes.append(f"{tables.edges.name} marks its edges as directed; they are used both ways unless --directed.")
    _check_columns(tables, settings)
    edges = select_edges(tables.edges, settings)
    nodes = match_nodes(tables.nodes, edges, settings.id or tables.id_column)
    notes += edges.notes + nodes.notes
    if settings.strict and tables.nodes:
        _check_strict(edges, nodes)
    n = len(nodes.ids)
    x, encoder, filled = _encode(nodes, settings, tables.labels, encoder, notes)
    unique = _unique_edges(edges, nodes, settings.directed)
    data = Data(x=x, edge_index=unique.edge_index, edge_weight=unique.edge_weight, num_nodes=n)
    if encoder is not None:
        data.column_group = torch.from_numpy(encoder.feature_groups)
    counts: Counts = {"folder" if tables.files else "edge file": tables.edges.name}
    if tables.nodes and not (tables.files and tables.id_column):
        counts["node file"] = nodes.name
    counts |= _node_counts(nodes) | _edge_counts(edges, unique)
    counts["direction"] = "edges one way" if settings.directed else "edges both ways"
    counts |= _shape_counts(unique, n) | _feature_counts(encoder, x, filled)
    # The name of the id column is kept, so that embeddings can be joined to the table by it.
    ids = nodes.ids.rename(nodes.id_columns[0]) if tables.nodes else nodes.ids
    table = nodes.frame if tables.nodes else ids.to_frame("id")
    table = pl.concat([table, table.clear(n - table.height)]) if table.height < n else table
    return UserGraph(ids, data, table, settings.label, settings.directed, encoder, counts, notes), edges, nodes


def _check_columns(tables: GraphTables, settings: InputSettings) -> None:
    every = [name for table in (*tables.nodes, tables.edges) for name in table.columns]
    first = (*tables.nodes, tables.edges)[0]
    for name in settings.ignore:
        if name not in every:
            raise InputError(f"{first.name}: has no column {name!r}; {first.suggest(name)}; choose others by --ignore")
    wanted = [("--id", settings.id), ("--label", settings.label), *(("--columns", name) for name in settings.columns)]
    wanted += [("--text", name) for name in settings.text]
    for option, name in [(option, name) for option, name in wanted if name is not None]:
        if not tables.nodes:
            raise InputError(f"{option}: given {name!r}, but there is no node table; give one by --nodes")
        if not any(name in table.columns for table in tables.nodes):
            first.check(name, option)
    if settings.label is not None and settings.label in (*settings.columns, *settings.text):
        raise InputError(
            f"--label: {settings.label!r} is also asked for as a feature; labels are never trained on, choose one"
        )


def _check_strict(edges: Edges, nodes: NodeTable) -> None:
    for ends, column in ((nodes.source, edges.source_column), (nodes.target, edges.target_column)):
        missing = np.flatnonzero(ends >= nodes.frame.height)
        if len(missing):
            node = nodes.ids[int(ends[missing[0]])]
            raise edges.error(
                int(missing[0]),
                column,
                f"the node {node!r} is not in {nodes.tables[0].name} ({len(missing):,} such rows); add it there, or "
                "leave out --strict",
            )


def _encode(
    nodes: NodeTable, settings: InputSettings, labels: Sequence[str], encoder: TableEncoder | None, notes: list[str]
) -> tuple[torch.Tensor | None, TableEncoder | None, int]:
    """The features, their encoder, and how many missing values were filled."""
    frame, absent = nodes.frame, len(nodes.ids) - nodes.frame.height
    names = [name for name in frame.columns if name not in nodes.id_columns and name != settings.label]
    usable = [name for name in names if name not in (*settings.ignore, *labels)]
    wanted = [name for name in usable if name in (*settings.columns, *settings.text)] if settings.columns else usable
    try:
        if encoder is not None:
            if new := encoder.new_columns(usable):
                notes.append(f"Columns that the model was not trained with are not used: {listed(new)}.")
            x, filled = encoder.transform(frame, absent)
        else:
            notes += [
                f"The column {name!r} is left out: by convention it holds labels; --label {name} compares with them."
                for name in labels
                if name in names
            ]
            used = frame.select(wanted)
            fitted, x, filled = TableEncoder.fit_transform(used, settings.columns, settings.text, absent)
            notes += [f"The column {name!r} is left out: {reason}." for name, reason in fitted.skipped.items()]
            if not fitted.encoders:
                return None, None, 0
            not_wanted = {name: "not asked for" for name in frame.columns if name not in wanted}
            encoder = replace(fitted, skipped=not_wanted | fitted.skipped)
    except CellError as error:
        remedy = "" if encoder else f"; correct it, leave it empty, or --ignore {error.column}"
        raise nodes.located(error, remedy) from error
    except InputError as error:
        raise InputError(f"{nodes.name}: {error}") from error
    return to_csr_or_dense(torch.from_numpy(x) if isinstance(x, np.ndarray) else x), encoder, filled


@dataclass(frozen=True)
class _UniqueEdges:
    """Each edge once, sorted, by the rule of :func:`~girl.graph.adjacency.build_adjacency`."""

    edge_index: torch.Tensor
    edge_weight: torch.Tensor | None
    matrix: scipy.sparse.csr_matrix
    """An entry for each edge, at (source, target)."""
    loops: int
    duplicates: int


def _unique_edges(edges: Edges, nodes: NodeTable, directed: bool) -> _UniqueEdges:
    n = len(nodes.ids)
    matrix = unique_edges(nodes.source, nodes.target, n, directed, edges.weight)
    loops = int((nodes.source == nodes.target).sum())
    edge_index = np.empty((2, matrix.nnz), dtype=np.int64)
    edge_index[0] = np.repeat(np.arange(n), np.diff(matrix.indptr))
    edge_index[1] = matrix.indices
    weight = None if edges.weight is None else torch.from_numpy(matrix.data.astype(np.float32))
    return _UniqueEdges(torch.from_numpy(edge_index), weight, matrix, loops, len(nodes.source) - loops - matrix.nnz)


def _node_counts(nodes: NodeTable) -> Counts:
    n = len(nodes.ids)
    if not nodes.tables:
        return {"nodes": n}
    has_edge = np.zeros(n, dtype=bool)
    has_edge[nodes.source] = has_edge[nodes.target] = True
    return {"nodes": n, "nodes only in edges": n - nodes.frame.height, "nodes only in table": int((~has_edge).sum())}


def _edge_counts(edges: Edges, unique: _UniqueEdges) -> Counts:
    counts: Counts = {"edges read": edges.num_read}
    if edges.rows is not None:
        counts["edges of other times"] = edges.num_read - len(edges.rows)
    counts |= {"duplicate edges": unique.duplicates, "self-loops": unique.loops, "edges": unique.edge_index.shape[1]}
    if edges.time_range is not None:
        counts["times"] = " to ".join(edges.time_range)
    if unique.edge_weight is not None and unique.edge_weight.numel():
        counts["weights"] = (
            f"{edges.weight_column}, {float(unique.edge_weight.min()):g} to {float(unique.edge_weight.max()):g}"
        )
    return counts


def _shape_counts(unique: _UniqueEdges, nodes: int) -> Counts:
    degree = np.diff(unique.matrix.indptr) + np.bincount(unique.matrix.indices, minlength=nodes)
    components, component = connected_components(unique.matrix, directed=False)
    return {
        "mean degree": round(2 * unique.matrix.nnz / max(nodes, 1), 2),
        "isolated nodes": int((degree == 0).sum()),
        "components": int(components),
        "largest component": int(np.bincount(component).max(initial=0)),
    }


def _feature_counts(encoder: TableEncoder | None, x: torch.Tensor | None, filled: int) -> Counts:
    if encoder is None or x is None:
        return {"features": 0}
    kinds = Counter(f"{column.kind} columns" for column in encoder.encoders)
    return {"features": x.shape[1], **kinds, **({"missing values filled": filled} if filled else {})}
