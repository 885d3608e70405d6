"""Opening what a user gives, files, frames or a folder of graphs, as tables of edges and nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import polars as pl
import torch

from girl.errors import InputError
from girl.tables.column_names import IDS, WEIGHT
from girl.tables.graph_files import GRAPH_SUFFIXES, SUFFIXES, GraphTables, feature_column, open_graph_file
from girl.tables.messages import listed
from girl.tables.settings import InputSettings
from girl.tables.table import Table, stack_tables
from girl.tables.table_files import check_file, open_table, suffix_of

#: A table, or the path of its file.
Source: TypeAlias = Path | str | pl.DataFrame

#: Files that hold numbers only: edges without weights have weight 1 there.
_NUMERIC = (".npz", ".pt")


def open_graph(
    edges: Source | GraphTables, nodes: Source | Sequence[Source] | None, settings: InputSettings
) -> GraphTables:
    """The tables of a graph, or of a set of graphs, from files or frames.

    Node tables replace what the edge file itself has about nodes.
    """
    sources = [] if nodes is None else [nodes] if isinstance(nodes, Path | str | pl.DataFrame) else list(nodes)
    names = ["nodes"] if len(sources) == 1 else [f"nodes[{index}]" for index in range(len(sources))]
    for source in sources:
        check_source(source, edges, "nodes")
    # Node tables are opened first: that is quick, so their mistakes are reported before the edges are read.
    tables = tuple(open_source(source, name) for source, name in zip(sources, names, strict=True))
    if isinstance(edges, GraphTables):
        graph = edges
    elif isinstance(edges, pl.DataFrame):
        graph = GraphTables(Table.from_frame(edges, "edges"))
    elif not Path(edges).is_dir():
        graph = open_graph_file(Path(edges), settings.directed)
    elif tables and settings.graph is None:
        raise InputError(
            f"{tables[0].name}: given for a folder of graphs, expected to know the graph of each row; name the column "
            "that has the names of the files, without their suffix, by --graph"
        )
    else:
        graph = open_folder(Path(edges), settings.directed, read_nodes=not tables)
    if not tables:
        return graph
    unused = [table.name for table in graph.nodes if len(table.columns) > 1]
    notes = [f"The node columns in {name} are not used, since a node table is given." for name in unused]
    return replace(graph, nodes=tables, id_column=None, notes=graph.notes + notes)


def open_source(source: Source, name: str) -> Table:
    """The table of nodes or graphs in a file, or in memory under this name."""
    return Table.from_frame(source, name) if isinstance(source, pl.DataFrame) else open_table(Path(source), IDS)


def check_source(source: Source, edges: Source | GraphTables, name: str) -> None:
    """Raise an error unless a table is in memory if the edges are, and in a file if they are."""
    in_memory = not isinstance(edges, Path | str)
    if in_memory and not isinstance(source, pl.DataFrame):
        raise InputError(f"{name}: given a file for edges in memory, expected tables in memory too")
    if not in_memory and isinstance(source, pl.DataFrame):
        raise InputError(f"{name}: given a table in memory for edges in {edges}, expected files too")


def open_folder(folder: Path, directed: bool = False, read_nodes: bool = True) -> GraphTables:
    """The graphs in a folder, a file for each, stacked. A file's name without the suffix is the graph's.

    Args:
        folder: where the files are.
        directed: as of :func:`~girl.tables.graph_files.open_graph_file`.
        read_nodes: whether the node columns of the files are used.
    """
    files, left_out = _graph_files(folder)
    graphs: dict[str, GraphTables] = {}
    for name, path in files.items():
        graphs[name] = open_graph_file(path, directed)
        if any(not table.read(["id"]).height for table in graphs[name].nodes):
            raise no_nodes_error(path)
    every = list(graphs.values())
    edges = stack_tables(_edge_tables(files, graphs), str(folder))
    notes = _merged_notes(files, graphs)
    nodes = _stacked_nodes(files, graphs, str(folder)) if read_nodes else None
    if not read_nodes and any(len(table.columns) > 1 for graph in every for table in graph.nodes):
        notes.append(f"The node columns in the files of {folder} are not used, since a node table is given.")
    if left_out:
        what = "file is" if left_out == 1 else "files or folders are"
        notes.append(f"{left_out:,} other {what} left out of {folder}: hidden, or of a kind that holds no graph.")
    labels = tuple(dict.fromkeys(name for graph in every for name in graph.labels))
    directions = [graph.directed for graph in every if graph.directed is not None]
    return GraphTables(
        edges,
        () if nodes is None else (nodes,),
        None if nodes is None else "id",
        any(directions) if directions else None,
        labels,
        notes,
        files=files,
    )


def no_nodes_error(path: Path) -> InputError:
    """The error for a file in a folder whose graph has no nodes."""
    return InputError(f"{path}: holds a graph without nodes, expected some; take it out of the folder")


def _graph_files(folder: Path) -> tuple[dict[str, Path], int]:
    """The files of graphs by name, and how many other files there are."""
    every = sorted(folder.iterdir())
    paths = [path for path in every if not path.name.startswith(".") and path.is_file() and suffix_of(path) in SUFFIXES]
    if not paths:
        kinds = ", ".join(SUFFIXES)
        raise InputError(f"{folder}: holds no file of a graph; give a folder with a {kinds} file for each graph")
    files: dict[str, Path] = {}
    for path in paths:
        suffix = check_file(path, SUFFIXES)
        name = path.name[: -len(".gz")] if path.suffix.lower() == ".gz" else path.name
        name = name[: len(name) - len(suffix)]
        if name in files:
            raise InputError(
                f"{path}: is called {name!r} as {files[name].name} is; each file is a graph of its own, rename one"
            )
        files[name] = path
    return dict(sorted(files.items())), len(every) - len(paths)


def _edge_tables(files: dict[str, Path], graphs: dict[str, GraphTables]) -> dict[str, Table]:
    """The edges of each file, all with the same columns."""
    tables = {name: graph.edges for name, graph in graphs.items()}
    weighted = any(WEIGHT in table.columns for table in tables.values())
    for name, table in tables.items():
        if weighted and suffix_of(files[name]) in _NUMERIC and WEIGHT not in table.columns:
            tables[name] = Table.from_frame(table.read().with_columns(pl.lit(1.0).alias(WEIGHT)), table.name)
    # A graph file without edges has no edge columns either: it gets those of the others.
    empty = {n for n, table in tables.items() if suffix_of(files[n]) in GRAPH_SUFFIXES and not table.read().height}
    if len(empty) == len(tables):
        folder = next(iter(files.values())).parent
        raise InputError(f"{folder}: none of its graphs has an edge, expected some; check how they were written")
    columns = next(table for name, table in tables.items() if name not in empty).read().clear()
    return {n: Table.from_frame(columns, table.name) if n in empty else table for n, table in tables.items()}


def _stacked_nodes(files: dict[str, Path], graphs: dict[str, GraphTables], folder: str) -> Table | None:
    """The node columns of all files, if they have any."""
    tables = {name: table for name, graph in graphs.items() for table in graph.nodes}
    if not tables:
        return None
    first, table = next(iter(tables.items()))
    for name, path in files.items():
        if name not in tables and len(table.columns) > 1:
            raise InputError(
                f"{path}: has no node columns, while {files[first]} has {listed(table.columns[1:])}; give all graphs "
                "in one format, or the nodes' columns by --nodes"
            )
    stacked = stack_tables(tables, folder)
    matrices = {name: graph.x for name, graph in graphs.items() if graph.x is not None}
    if not matrices:
        return stacked
    first, width = next((name, x.shape[1]) for name, x in matrices.items())
    for name, x in matrices.items():
        if x.shape[1] != width:
            raise InputError(
                f"{files[name]}: x has {x.shape[1]:,} columns, expected {width:,} as in {files[first]}; give all "
                "graphs the same features"
            )
    return _with_matrix(stacked, list(matrices.values()))


def _with_matrix(table: Table, parts: Sequence[torch.Tensor]) -> Table:
    """The table with its column x made from all matrices together, so that it is sparse for all or for none."""
    column = feature_column("x", torch.cat([x if x.layout == torch.strided else x.to_dense() for x in parts]))
    rest = [name for name in table.columns if name != "x"]

    def load(columns: Sequence[str]) -> pl.DataFrame:
        others = [name for name in columns if name != "x"]
        return table.load(others or rest[:1]).with_columns(column).select(list(columns))

    return replace(table, load=load)


def _merged_notes(files: dict[str, Path], graphs: dict[str, GraphTables]) -> list[str]:
    """The notes on the files; a note that several share is given once, with their number."""
    same: dict[str, list[str]] = {}
    for name, graph in graphs.items():
        for note in graph.notes:
            same.setdefault(note.replace(str(files[name]), ""), []).append(note)
    return [
        notes[0] if len(notes) == 1 else f"{notes[0]} This holds for {len(notes):,} of {len(files):,} files."
        for notes in same.values()
    ]
