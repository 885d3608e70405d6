"""A user's own graph: files of edges and nodes as the one thing that can be trained on, counted and explained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse
import torch
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from torch_geometric.data import Data

from girl.errors import InputError
from girl.graph.adjacency import unique_edges
from girl.kernel.sparse import to_csr_or_dense
from girl.tables.edges import Edges, edges_of, read_edge_file
from girl.tables.encoding import Encoding
from girl.tables.graph_files import GraphFile
from girl.tables.node_table import IDS, NodeTable, index_of, node_table
from girl.tables.table import Table, listed, open_table
from girl.tables.values import CellError


@dataclass(frozen=True)
class InputSettings:
    """How files are read as a graph."""

    source: str | None = None
    """Column where edges begin; guessed from usual names if not given."""
    target: str | None = None
    """Column where edges end; guessed from usual names if not given."""
    weight: str | None = None
    """Column of edge weights, which are positive; a column called weight if not given."""
    time: str | None = None
    """Column of the edges' times, numbers or dates."""
    since: str | None = None
    """Edges before this time are left out."""
    until: str | None = None
    """Edges at or after this time are left out."""
    directed: bool = False
    """Whether an edge leads from its source to its target only."""
    id: str | None = None
    """Column of the node table with the ids; guessed from usual names and from the ids of the edges if not given."""
    graph: str | None = None
    """Column of the edges, of the node table or of both that says which graph a row belongs to: a set of graphs."""
    label: str | None = None
    """Column of the node table (or of the table of graphs) that the report compares with; never trained on."""
    columns: tuple[str, ...] = ()
    """Columns of the node table that become features; all that can if none are given."""
    ignore: tuple[str, ...] = ()
    """Columns that are not used."""
    text: tuple[str, ...] = ()
    """Columns of the node table whose words become features."""
    strict: bool = False
    """Whether an edge to a node that the node table lacks is an error, or a graph that the table of graphs lacks."""


@dataclass(frozen=True)
class UserGraph:
    """A graph, or a set of graphs, with everything that its files say."""

    ids: pl.Series
    """Ids of the n nodes as given, integers or text, named as the table's column. Nodes of the node table come first,
    in its order, then all others, sorted. For a set of graphs: the ids of the graphs."""
    data: Data
    """``x`` (n × d, CSR or dense; None without features), ``edge_index`` (2 × m, each edge once, no loops),
    ``edge_weight`` (m; None without weights); of a set, also ``graph`` (n, sorted) and ``graphs``, their number."""
    table: pl.DataFrame
    """What is known of each of the ids: the node table as read, or that of graphs; null for those that it lacks."""
    label: str | None
    """The table's column of labels."""
    directed: bool
    encoding: Encoding | None
    """How ``x`` was made; None without features."""
    counts: dict[str, int | float | str]
    """What a summary shows, in order."""
    notes: list[str]
    """What a person should know: guesses made, columns left out and why."""

    @property
    def is_set(self) -> bool:
        """Whether it is a set of graphs."""
        return "graph" in self.data


def read_user_graph(
    edges: Path,
    nodes: Path | Sequence[Path] | None = None,
    settings: InputSettings = InputSettings(),  # noqa: B008 (frozen)
    encoding: Encoding | None = None,
) -> UserGraph:
    """The graph in files.

    Args:
        edges: .csv, .tsv, .txt, JSON lines (all also with .gz), .parquet, .npz, .pt, .graphml or .gml.
        nodes: a table with an id column, or several of the same nodes, such as features.json and target.csv.
        settings: how they are read.
        encoding: of a saved model, replayed instead of fitted.
    """
    paths = [] if nodes is None else [nodes] if isinstance(nodes, Path) else list(nodes)
    tables = [open_table(path, IDS) for path in paths]  # quick, unlike the edges: its mistakes come first
    return build(read_edge_file(edges, settings.directed), tables, settings, encoding).graph


def user_graph_of(
    edges: pl.DataFrame,
    nodes: pl.DataFrame | Sequence[pl.DataFrame] | None = None,
    settings: InputSettings = InputSettings(),  # noqa: B008 (frozen)
    encoding: Encoding | None = None,
) -> UserGraph:
    """The graph in tables, as :func:`read_user_graph`."""
    frames = [] if nodes is None else [nodes] if isinstance(nodes, pl.DataFrame) else list(nodes)
    return build(GraphFile(Table.of(edges, "edges")), tables_of(frames), settings, encoding).graph


def tables_of(frames: Sequence[pl.DataFrame]) -> list[Table]:
    """Node tables in memory, named as they are given to :func:`girl.embed`."""
    names = ["nodes"] if len(frames) == 1 else [f"nodes[{index}]" for index in range(len(frames))]
    return [Table.of(frame, name) for frame, name in zip(frames, names, strict=True)]


def graph_of_file(
    file: GraphFile,
    settings: InputSettings = InputSettings(),  # noqa: B008 (frozen)
    encoding: Encoding | None = None,
) -> UserGraph:
    """The graph in a file that holds both edges and nodes (see :func:`~girl.tables.graph_files.graph_tables`)."""
    return build(file, [], settings, encoding).graph


@dataclass(frozen=True)
class Built:
    """A graph beside the tables that it was made of."""

    graph: UserGraph
    edges: Edges
    nodes: NodeTable
    source: NDArray[np.int64]
    """Where each of ``edges`` begins, as a place among the graph's ids."""
    target: NDArray[np.int64]


def build(file: GraphFile, tables: list[Table], settings: InputSettings, encoding: Encoding | None = None) -> Built:
    """The graph in a file and in tables of its nodes, as :func:`read_user_graph` gives it."""
    s = settings
    notes = list(file.notes)
    if tables and file.nodes is not None and len(file.nodes.columns) > 1:
        notes.append(f"What {file.nodes.name} says about nodes is not used, since a node table is given.")
    id_column = s.id
    if not tables and file.nodes is not None:
        tables, id_column = [file.nodes], s.id or "id"
    if file.directed and not s.directed:
        notes.append(f"{file.edges.name} says that edges are directed; they are used both ways unless --directed.")
    _check_ignored(s, file.edges, tables)
    edges = edges_of(file.edges, s.source, s.target, s.weight, s.time, s.since, s.until, s.ignore)
    notes += edges.notes
    found = node_table(tables, edges, id_column)
    notes += found.notes
    if s.strict and tables:
        _check_strict(edges, found, tables[0])
    ids, source, target = index_of(found)
    if found.id_columns:
        ids = ids.rename(found.id_columns[0])  # embeddings are joined to the table by the name it has there
    x, encoding, filled = _features(found, s, file.labels, len(ids), encoding, notes)
    sides = _edge_list(source, target, edges.weight, len(ids), s.directed)
    data = Data(x=x, edge_index=sides.edge_index, edge_weight=sides.weight, num_nodes=len(ids))
    counts: dict[str, int | float | str] = {"edge file": file.edges.name}
    if tables:
        counts["node file"] = ", ".join(table.name for table in tables)
    counts |= _node_counts(found, source, target, len(ids)) | _edge_counts(edges, sides)
    counts["direction"] = "edges one way" if s.directed else "edges both ways"
    counts |= _shape_counts(sides, len(ids)) | _feature_counts(encoding, x, filled)
    table = found.frame if tables else ids.rename("id").to_frame()
    if table.height < len(ids):
        table = pl.concat([table, table.clear(len(ids) - table.height)])
    graph = UserGraph(ids, data, table, s.label, s.directed, encoding, counts, notes)
    return Built(graph, edges, found, source, target)


def _check_ignored(s: InputSettings, edges: Table, tables: Sequence[Table]) -> None:
    every = [name for table in (*tables, edges) for name in table.columns]
    for name in s.ignore:
        if name not in every:
            where = tables[0] if tables else edges
            raise InputError(f"{where.name}: has no column {name!r}; {where.nearest(name)}; choose others by --ignore")
    for option, names in (("--id", s.id), ("--label", s.label), ("--columns", s.columns), ("--text", s.text)):
        for name in [names] if isinstance(names, str) else names or ():
            if not tables:
                raise InputError(f"{option}: given {name!r}, but there is no node table; give one by --nodes")
            if not any(name in table.columns for table in tables):
                tables[0].check(name, option)
    if s.label is not None and s.label in (*s.columns, *s.text):
        raise InputError(
            f"--label: {s.label!r} is also asked for as a feature; labels are never trained on, choose one"
        )


def _check_strict(edges: Edges, found: NodeTable, table: Table) -> None:
    assert found.ids is not None
    for ends, column in ((found.source, edges.source_column), (found.target, edges.target_column)):
        unknown = (~ends.is_in(found.ids.implode())).arg_true()
        if len(unknown):
            place = int(unknown[0])
            raise edges.table.error(
                edges.row(place),
                column,
                f"the node {ends[place]!r} is not in {table.name} ({len(unknown):,} such rows); add it there, "
                "or leave out --strict",
            )


def _features(
    found: NodeTable, s: InputSettings, labels: Sequence[str], nodes: int, encoding: Encoding | None, notes: list[str]
) -> tuple[torch.Tensor | None, Encoding | None, int]:
    """X, how it was made, and how many missing values were filled."""
    absent = nodes - found.frame.height
    names = [name for name in found.frame.columns if name not in found.id_columns and name != s.label]
    if encoding is not None:
        if new := encoding.new_columns([name for name in names if name not in (*s.ignore, *labels)]):
            notes.append(f"Columns that the model was not trained with are not used: {listed(new)}.")
        try:
            matrix, filled = encoding.encode(found.frame, absent)
        except CellError as error:
            raise found.located(error) from error
        except InputError as error:
            raise InputError(f"{found.name}: {error}") from error
        return _tensor(matrix), encoding, filled
    notes += [
        f"The column {name!r} is left out: labels are kept there by habit; --label {name} compares with them."
        for name in labels
        if name in names
    ]
    usable = [name for name in names if name not in (*s.ignore, *labels)]
    wanted = [name for name in usable if name in (*s.columns, *s.text)] if s.columns else usable
    if not wanted:
        return None, None, 0
    try:
        encoding, matrix, filled = Encoding.fit_apply(found.frame.select(wanted), s.columns, s.text, absent)
    except CellError as error:
        remedy = f"; mend it, leave it empty, or --ignore {error.column}"
        raise found.located(error, remedy) from error
    notes += [f"The column {name!r} is left out: {reason}." for name, reason in encoding.skipped.items()]
    if not encoding.kinds:
        return None, None, 0
    rest = {name: "not asked for" for name in found.frame.columns if name not in wanted}
    encoding = Encoding(encoding.kinds, encoding.absent, encoding.scale, {**rest, **encoding.skipped})
    return _tensor(matrix), encoding, filled


def _tensor(matrix: NDArray[np.float32] | scipy.sparse.csr_matrix) -> torch.Tensor:
    return to_csr_or_dense(torch.from_numpy(matrix) if isinstance(matrix, np.ndarray) else matrix)


@dataclass(frozen=True)
class _Sides:
    edge_index: torch.Tensor
    weight: torch.Tensor | None
    matrix: scipy.sparse.csr_matrix
    loops: int
    duplicates: int


def _edge_list(
    source: NDArray[np.int64], target: NDArray[np.int64], weight: NDArray[np.float64] | None, nodes: int, directed: bool
) -> _Sides:
    """Each edge once, sorted, by the rule of :func:`~girl.graph.adjacency.build_adjacency`."""
    matrix = unique_edges(source, target, nodes, directed, weight)
    loops = int((source == target).sum())
    edge_index = np.empty((2, matrix.nnz), dtype=np.int64)
    edge_index[0] = np.repeat(np.arange(nodes), np.diff(matrix.indptr))
    edge_index[1] = matrix.indices
    weights = None if weight is None else torch.from_numpy(matrix.data.astype(np.float32))
    return _Sides(torch.from_numpy(edge_index), weights, matrix, loops, len(source) - loops - matrix.nnz)


def _node_counts(
    found: NodeTable, source: NDArray[np.int64], target: NDArray[np.int64], nodes: int
) -> dict[str, int | float | str]:
    counts: dict[str, int | float | str] = {"nodes": nodes}
    if found.ids is not None:
        touched = np.zeros(nodes, dtype=bool)
        touched[source] = touched[target] = True
        counts["nodes only in edges"] = nodes - len(found.ids)
        counts["nodes only in table"] = nodes - int(touched.sum())
    return counts


def _edge_counts(edges: Edges, sides: _Sides) -> dict[str, int | float | str]:
    counts: dict[str, int | float | str] = {"edges read": edges.read}
    if edges.rows is not None:
        counts["edges of other times"] = edges.read - len(edges.rows)
    counts |= {
        "duplicate edges": sides.duplicates,
        "self-loops": sides.loops,
        "edges": sides.edge_index.shape[1],
    }
    if edges.span is not None:
        counts["times"] = " to ".join(edges.span)
    if sides.weight is not None and sides.weight.numel():
        counts["weights"] = f"{edges.weight_column}, {float(sides.weight.min()):g} to {float(sides.weight.max()):g}"
    return counts


def _shape_counts(sides: _Sides, nodes: int) -> dict[str, int | float | str]:
    degree = np.diff(sides.matrix.indptr) + np.bincount(sides.matrix.indices, minlength=nodes)
    parts, part = connected_components(sides.matrix, directed=False)
    return {
        "mean degree": round(2 * sides.matrix.nnz / max(nodes, 1), 2),
        "isolated nodes": int((degree == 0).sum()),
        "components": int(parts),
        "largest component": int(np.bincount(part).max(initial=0)),
    }


def _feature_counts(encoding: Encoding | None, x: torch.Tensor | None, filled: int) -> dict[str, int | float | str]:
    if encoding is None or x is None:
        return {"features": 0}
    counts: dict[str, int | float | str] = {"features": x.shape[1]}
    for kind in encoding.kinds:
        key = f"{kind.kind} columns"
        counts[key] = int(counts.get(key, 0)) + 1
    if filled:
        counts["missing values filled"] = filled
    return counts
