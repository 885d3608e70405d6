"""A folder of graphs, each in a file of its own, as one table of edges and one of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray

from girl.errors import InputError
from girl.tables.edges import WEIGHT, read_edge_file
from girl.tables.graph_files import GRAPHS, GraphFile, matrix_column
from girl.tables.table import SUFFIXES, Table, check_file, listed, stacked, suffix_of

#: Files that hold numbers only: edges without weights weigh 1 there.
_NUMBERS = (".npz", ".pt")


@dataclass(frozen=True)
class Folder:
    """The graphs of a folder."""

    file: GraphFile
    """All of them, one below another."""
    paths: dict[str, Path]
    """By the graphs' names, sorted; none of a single file."""
    edges: pl.Series | None = None
    """The graph of each row of the edges, if they do not say it themselves."""
    nodes: pl.Series | None = None
    """The graph of each row of what the files say about nodes, if they do."""


def read_folder(folder: Path, directed: bool = False, nodes: bool = True) -> Folder:
    """Every file of a kind that one graph is read from; its name without the suffix is the graph's.

    Args:
        folder: where they are.
        directed: whether an edge that stands both ways is read twice.
        nodes: whether what the files say about nodes is read.
    """
    paths, left = _paths(folder)
    files: dict[str, GraphFile] = {}
    for name, path in paths.items():
        files[name] = file = read_edge_file(path, directed)
        if file.nodes is not None and not file.nodes.read(["id"]).height:
            raise without_nodes(path)
    names = pl.Series("graph", list(files), dtype=pl.String)
    every = list(files.values())
    edges, of = stacked(_edge_tables(list(paths.values()), every), str(folder))
    notes = _together(list(paths.values()), every)
    table, owner = None, None
    if nodes:
        table, owner = _node_tables(list(paths.values()), every, str(folder))
    elif any(file.nodes is not None and len(file.nodes.columns) > 1 for file in every):
        notes.append(f"What the files of {folder} say about nodes is not used, since a node table is given.")
    if left:
        word = "file is" if left == 1 else "files or folders are"
        notes.append(f"{left:,} other {word} left out of {folder}: hidden, or of a kind that holds no graph.")
    labels = tuple(dict.fromkeys(name for file in every for name in file.labels))
    told = [file.directed for file in every if file.directed is not None]
    file = GraphFile(edges, table, any(told) if told else None, labels, notes)
    return Folder(file, paths, names.gather(of), None if owner is None else names.gather(owner))


def without_nodes(path: Path) -> InputError:
    """The complaint about a file whose graph has none."""
    return InputError(f"{path}: holds a graph without nodes, expected some; take it out of the folder")


def _paths(folder: Path) -> tuple[dict[str, Path], int]:
    """The files of graphs by name, and how many others there are."""
    every = sorted(folder.iterdir())
    kept = [path for path in every if not path.name.startswith(".") and path.is_file()]
    kept = [path for path in kept if suffix_of(path) in (*SUFFIXES, *GRAPHS)]
    if not kept:
        kinds = ", ".join((*SUFFIXES, *GRAPHS))
        raise InputError(f"{folder}: holds no file of a graph; give a folder with a {kinds} file for each graph")
    found: dict[str, Path] = {}
    for path in kept:
        check_file(path, (*SUFFIXES, *GRAPHS))
        whole = path.name[: -len(".gz")] if path.suffix.lower() == ".gz" else path.name
        name = whole[: len(whole) - len(suffix_of(path))]
        if name in found:
            raise InputError(
                f"{path}: is called {name!r} as {found[name].name} is; each file is a graph of its own, rename one"
            )
        found[name] = path
    return dict(sorted(found.items())), len(every) - len(kept)


def _edge_tables(paths: Sequence[Path], files: Sequence[GraphFile]) -> list[Table]:
    """The edges of each file, with the same columns."""
    weighed = any(WEIGHT in file.edges.columns for file in files)
    tables = []
    for path, file in zip(paths, files, strict=True):
        table = file.edges
        if weighed and suffix_of(path) in _NUMBERS and WEIGHT not in table.columns:
            table = Table.of(table.read().with_columns(pl.lit(1.0).alias(WEIGHT)), table.name)
        tables.append(table)
    # A graph without edges has no attributes of edges either: it takes those of the others.
    bare = [suffix_of(path) in GRAPHS and not table.read().height for path, table in zip(paths, tables, strict=True)]
    if all(bare):
        raise InputError(
            f"{paths[0].parent}: none of its graphs has an edge, expected some; check how they were written"
        )
    full = tables[bare.index(False)].read().clear()
    return [Table.of(full, table.name) if empty else table for table, empty in zip(tables, bare, strict=True)]


def _node_tables(
    paths: Sequence[Path], files: Sequence[GraphFile], name: str
) -> tuple[Table | None, NDArray[np.int64] | None]:
    """What the files say about nodes, and the file of each row."""
    tables = [file.nodes for file in files]
    known = [index for index, table in enumerate(tables) if table is not None]
    if not known:
        return None, None
    for path, table in zip(paths, tables, strict=True):
        first = tables[known[0]]
        assert first is not None
        if table is None and len(first.columns) > 1:
            raise InputError(
                f"{path}: says nothing about nodes, while {paths[known[0]]} has {listed(first.columns[1:])}; give all "
                "graphs in one format, or the nodes' columns by --nodes"
            )
    found, of = stacked([table for table in tables if table is not None], name)
    matrices = [file.x for file in files]
    if any(x is not None for x in matrices):
        widths = {path: x.shape[1] for path, x in zip(paths, matrices, strict=True) if x is not None}
        width = next(iter(widths.values()))
        for path, other in widths.items():
            if other != width:
                raise InputError(
                    f"{path}: x has {other:,} columns, expected {width:,} as in {next(iter(widths))}; give all graphs "
                    "the same features"
                )
        found = _with_matrix(found, [x for x in matrices if x is not None])
    return found, np.array(known)[of]


def _with_matrix(table: Table, parts: Sequence[torch.Tensor]) -> Table:
    """The table with its column x made of all matrices at once: whether it is sparse is then the same for all."""
    column = matrix_column("x", torch.cat([x if x.layout == torch.strided else x.to_dense() for x in parts]))
    rest = [name for name in table.columns if name != "x"]

    def load(columns: Sequence[str]) -> pl.DataFrame:
        others = [name for name in columns if name != "x"]
        frame = table.load(others or rest[:1])
        return frame.with_columns(column).select(list(columns))

    return replace(table, load=load)


def _together(paths: Sequence[Path], files: Sequence[GraphFile]) -> list[str]:
    """The files' notes; what is the same in several is said once."""
    found: dict[str, list[str]] = {}
    for path, file in zip(paths, files, strict=True):
        for note in file.notes:
            found.setdefault(note.replace(str(path), ""), []).append(note)
    return [
        notes[0] if len(notes) == 1 else f"{notes[0]} So it is in {len(notes):,} of {len(files):,} files."
        for notes in found.values()
    ]
