"""A user's set of graphs: tables with a column that says which graph a row is of, or a folder of files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from girl.errors import InputError
from girl.tables.edges import read_edge_file
from girl.tables.encoding import Encoding, called_id
from girl.tables.graph_files import GraphFile
from girl.tables.graph_folder import Folder, read_folder, without_nodes
from girl.tables.graph_ids import Part, by_edges, by_nodes, codes_of, graph_of, part_of, within
from girl.tables.node_table import IDS, alike, unique_ids
from girl.tables.table import Table, listed, open_table
from girl.tables.user_graph import Built, InputSettings, UserGraph, build, tables_of
from girl.tables.values import CellError, shown

#: Nodes of the largest graph from which texts that never repeat within a graph are taken as names.
NAMED = 5


def read_user_graphs(
    source: Path,
    nodes: Sequence[Path] = (),
    graphs: Path | None = None,
    settings: InputSettings = InputSettings(),  # noqa: B008 (frozen)
    encoding: Encoding | None = None,
) -> UserGraph:
    """The set of graphs in files.

    Where the edges and all node tables have the column ``settings.graph``, a node is known by its graph and its id, so
    that ids may repeat in other graphs; where one of them lacks it, ids are those of one graph each.

    Args:
        source: a table of edges, or a folder with a file for each graph, whose name is the graph's.
        nodes: tables with a row for each node.
        graphs: a table with a row for each graph: its order is that of the result. Without it, graphs come in the order
            in which they appear, those of the node table first; those of a folder by name.
        settings: how they are read; ``label`` may be a column of ``graphs``, or of a node table if it is the same for
            all nodes of a graph.
        encoding: of a saved model, replayed instead of fitted.
    """
    tables = [open_table(path, IDS) for path in nodes]
    about = None if graphs is None else open_table(graphs, IDS)
    if not source.is_dir():
        file = read_edge_file(source, settings.directed)
        return _set_of(Folder(file, {}), tables, about, settings, encoding)
    if tables and settings.graph is None:
        raise InputError(
            f"{tables[0].name}: given for a folder of graphs, expected to know which graph a row is of; name the "
            "column that has the names of the files, without their suffix, by --graph"
        )
    return _set_of(read_folder(source, settings.directed, nodes=not tables), tables, about, settings, encoding)


def user_graphs_of(
    edges: pl.DataFrame,
    nodes: Sequence[pl.DataFrame] = (),
    graphs: pl.DataFrame | None = None,
    settings: InputSettings = InputSettings(),  # noqa: B008 (frozen)
    encoding: Encoding | None = None,
) -> UserGraph:
    """The set of graphs in tables, as :func:`read_user_graphs`."""
    about = None if graphs is None else Table.of(graphs, "graphs")
    file = GraphFile(Table.of(edges, "edges"))
    return _set_of(Folder(file, {}), tables_of(nodes), about, settings, encoding)


def _set_of(
    given: Folder, tables: list[Table], about: Table | None, s: InputSettings, encoding: Encoding | None
) -> UserGraph:
    if s.graph is not None and s.graph in (s.label, *s.columns, *s.text, *s.ignore):
        raise InputError(
            f"--graph: {s.graph!r} is also given as a label or a feature, or to be ignored; it says which graph a row "
            "belongs to and is never a feature"
        )
    file = given.file
    own = not tables and file.nodes is not None
    edges = part_of(file.edges, s.graph, given.edges)
    if own:
        assert file.nodes is not None
        nodes = [part_of(file.nodes, s.graph, given.nodes)]
    else:
        nodes = [part_of(table, s.graph, None) for table in tables]
    _check_said(s.graph, edges, nodes, folder=bool(given.paths))
    parts = [*nodes, edges]
    scoped = all(part.graph is not None for part in parts)
    *wrapped, ends = [within(part) if scoped else part.table for part in parts]
    label = _node_label(s.label, nodes, about)
    whole = replace(file, edges=ends, nodes=wrapped[0] if own else file.nodes)
    naming = [name for part in nodes for name in _naming(part) if name not in (label, *s.columns, *s.text, *s.ignore)]
    built = build(whole, [] if own else wrapped, replace(s, label=label, ignore=(*s.ignore, *naming)), encoding)
    naming = [name for name in naming if name not in built.nodes.id_columns and encoding is None]
    built.graph.notes.extend(
        f"The column {name!r} is left out: it names the nodes of each graph; --columns with its name uses it."
        for name in naming
    )
    seen = _seen(parts, list(given.paths), s.graph or "graph")
    if scoped:
        owner = codes_of(graph_of(built.graph.ids), seen)
    elif edges.graph is None:
        owner = by_nodes(built, nodes, seen, s.graph or "")
    else:
        owner = by_edges(built, edges.graph, seen, s.graph or "")
    rows = _rows(seen, about, s, np.bincount(owner, minlength=len(seen)), given.paths)
    made = _grouped(built, owner, rows, s)
    if given.paths:
        counts = {"folder": file.edges.name} | {k: v for k, v in made.counts.items() if k != "edge file"}
        made = replace(made, counts={k: v for k, v in counts.items() if k != "node file" or not own})
    return made


def _check_said(column: str | None, edges: Part, nodes: Sequence[Part], folder: bool) -> None:
    """Complain if no table says which graph a row is of; of a folder the node table must, and of several all."""
    if column is None and edges.graph is None:
        raise InputError(
            f"{edges.table.name}: given as a set of graphs, expected --graph with the column that tells them"
        )
    asked = [part.table for part in nodes if part.graph is None]
    if column is not None and asked and (folder or (edges.graph is not None and len(asked) < len(nodes))):
        asked[0].check(column, "--graph")
    if column is not None and edges.graph is None and len(asked) == len(nodes):
        near = [table for table in (edges.table, *asked) if table.nearest(column).startswith("did you mean")]
        (near or [edges.table])[0].check(column, "--graph")


def _node_label(label: str | None, nodes: Sequence[Part], about: Table | None) -> str | None:
    """The column of labels, if a node table has it: it is then no feature, also where the table of graphs has it."""
    if label is None or any(label in part.table.columns for part in nodes):
        return label
    if about is None and not nodes:
        raise InputError(
            f"--label: given {label!r}, but there is no table of graphs or nodes; give one by --graphs or --nodes"
        )
    (about or nodes[0].table).check(label, "--label")
    return None


def _seen(parts: Sequence[Part], files: Sequence[str], column: str) -> pl.Series:
    """All graphs: those of a folder's files, or those of tables in the order in which they appear there."""
    if not files:
        told = alike([part.graph for part in parts if part.graph is not None])
        return pl.concat([graph.rename("graph") for graph in told]).unique(maintain_order=True)
    for part in parts:
        assert part.graph is not None
        unknown = (~part.graph.cast(pl.String).is_in(list(files))).arg_true()
        if len(unknown):
            row = int(unknown[0])
            problem = f"no file is called {shown(part.graph[row])}, as {files[0]!r} is ({len(unknown):,} such rows)"
            raise part.table.error(row, column, f"{problem}; drop the row or add the file")
    return pl.Series("graph", files)


def _naming(part: Part) -> list[str]:
    """Texts, or ids, that are different for all nodes of a graph and repeat in others: names of nodes, not kinds."""
    if part.graph is None or not (part.graph.value_counts()["count"] >= NAMED).any():
        return []
    found = []
    for column in part.table.read():
        named = column.dtype == pl.String or (column.dtype.is_integer() and called_id(column.name))
        if named and column.drop_nulls().is_duplicated().any():
            cells = pl.DataFrame([part.graph.alias("graph"), column.alias("cell")]).drop_nulls()
            if not cells.is_duplicated().any():
                found.append(column.name)
    return found


@dataclass(frozen=True)
class _Rows:
    """The graphs in the order of the result."""

    order: NDArray[np.int64]
    """Their places among those seen."""
    table: pl.DataFrame
    """Ids first, then what the table of graphs says."""
    notes: list[str]
    counts: dict[str, int | float | str]


def _rows(
    seen: pl.Series, about: Table | None, s: InputSettings, sizes: NDArray[np.int64], paths: dict[str, Path]
) -> _Rows:
    name = s.graph or "graph"
    notes: list[str] = []
    for code, path in enumerate(paths.values()):
        if not sizes[code]:
            raise without_nodes(path)
    if about is None:
        order = np.flatnonzero(sizes)
        table = seen.gather(order).alias(name).to_frame()
        if len(order) < len(seen):
            notes.append(_without_nodes(seen.gather(np.flatnonzero(sizes == 0))))
        return _Rows(order, table, notes, {})
    column = name if name in about.columns else about.columns[0]
    ids, seen = alike([unique_ids(about, column), seen])
    place = codes_of(seen, ids)
    if not (place >= 0).any():
        raise InputError(
            f"{about.name}: no id of column {column!r}, such as {shown(ids[0])}, is a graph, such as {shown(seen[0])}; "
            "choose the column by --graph, or check that the files belong together"
        )
    full = sizes > 0
    lacking = np.flatnonzero((place < 0) & full)
    if len(lacking) and s.strict:
        raise InputError(
            f"{about.name}: has no row for the graph {shown(seen[int(lacking[0])])} ({len(lacking):,} such graphs); "
            "add it there, or leave out --strict"
        )
    known = np.flatnonzero((place >= 0) & full)
    known = known[np.argsort(place[known], kind="stable")]
    order = np.concatenate([known, lacking])
    bare = ids.filter(~pl.Series(np.isin(np.arange(len(ids)), place[known])))
    if len(bare):
        notes.append(_without_nodes(bare))
    rows = pl.Series(np.concatenate([place[known], np.full(len(lacking), -1)]))
    rest = about.read([other for other in about.columns if other != column])
    table = rest.select(pl.all().gather(rows.set(rows < 0, None))) if rest.width else pl.DataFrame()
    table = table.insert_column(0, seen.gather(order).alias(name))
    return _Rows(order, table, notes, {"graph file": about.name, "graphs not in it": len(lacking)})


def _without_nodes(ids: pl.Series) -> str:
    shown_ids = listed(ids.cast(pl.String).to_list(), 3)
    one = len(ids) == 1
    return (
        f"{len(ids):,} graph{' has' if one else 's have'} no nodes and {'is' if one else 'are'} left out: {shown_ids}."
    )


def _grouped(built: Built, owner: NDArray[np.int64], rows: _Rows, s: InputSettings) -> UserGraph:
    """The graph as a set: nodes by graph, in the graphs' order."""
    graph, count = built.graph, len(rows.order)
    rank = np.full(int(owner.max()) + 1, -1)
    rank[rows.order] = np.arange(count)
    of = rank[owner]
    order = np.argsort(of, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    x = graph.data.x
    if x is not None:
        x = (x if x.layout == torch.strided else x.to_dense())[torch.from_numpy(order)]
    data = Data(
        x=x,
        edge_index=torch.from_numpy(place)[graph.data.edge_index],
        edge_weight=graph.data.edge_weight,
        graph=torch.from_numpy(of[order]),
        graphs=count,
        num_nodes=len(order),
    )
    table = rows.table
    if graph.label is not None and graph.label not in table.columns:
        table = table.with_columns(_shared(built, of, graph.label))
    ids = table.to_series(0)
    counts = _counts(graph.counts, rows.counts, np.bincount(of, minlength=count))
    return UserGraph(ids, data, table, s.label, graph.directed, graph.encoding, counts, [*graph.notes, *rows.notes])


def _shared(built: Built, of: NDArray[np.int64], label: str) -> pl.Series:
    """The column of a node table for each graph: the one value that its nodes have."""
    frame = pl.DataFrame({"graph": of, "row": np.arange(len(of)), "label": built.graph.table[label]})
    known = frame.drop_nulls("label").with_columns(
        first=pl.col("label").first().over("graph"), at=pl.col("row").first().over("graph")
    )
    differ = known.filter(pl.col("label") != pl.col("first"))
    if differ.height:
        row, value, first = differ["row"][0], differ["label"][0], differ["first"][0]
        raise built.nodes.located(
            CellError(
                row,
                label,
                f"given {shown(value)} where another node of the same graph has {shown(first)}; expected one label for "
                "a graph: choose another column by --label, or give a table of graphs by --graphs",
            )
        )
    graphs = pl.DataFrame({"graph": np.arange(int(of.max()) + 1)})
    one = known.group_by("graph", maintain_order=True).agg(pl.col("label").first())
    return graphs.join(one, on="graph", how="left", maintain_order="left")["label"].alias(label)


def _counts(
    nodes: dict[str, int | float | str], graphs: dict[str, int | float | str], sizes: NDArray[np.int64]
) -> dict[str, int | float | str]:
    """What a summary shows: that of the nodes, with the graphs before them."""
    found: dict[str, int | float | str] = {}
    for name, value in nodes.items():
        if name == "nodes":
            found |= graphs | {"graphs": len(sizes)}
            found["nodes in a graph"] = f"{sizes.min():,} to {sizes.max():,}, {sizes.mean():.1f} on average"
        if name not in ("components", "largest component"):
            found[name] = value
    return found
