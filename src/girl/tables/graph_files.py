"""Files that hold one graph: an edge list, a sparse matrix, a torch_geometric Data, GraphML or GML. All as tables."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import networkx as nx  # type: ignore[import-untyped]
import numpy as np
import polars as pl
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from girl.errors import InputError
from girl.kernel.sparse import to_scipy
from girl.tables.column_names import ENDS, simple_name
from girl.tables.table import Table
from girl.tables.table_files import TABLE_SUFFIXES, check_file, open_table, read_error

#: Files that may also hold columns of nodes.
GRAPH_SUFFIXES = (".npz", ".pt", ".graphml", ".gml")
SUFFIXES = (*TABLE_SUFFIXES, *GRAPH_SUFFIXES)

#: Feature matrices with a smaller fraction of nonzero entries become lists of these entries.
_DENSITY = 0.15


@dataclass(frozen=True)
class GraphTables:
    """A graph, or a set of graphs, as tables."""

    edges: Table
    nodes: tuple[Table, ...] = ()
    id_column: str | None = None
    """The id column of ``nodes``, if they were in the same file as the edges."""
    directed: bool | None = None
    """Whether the file marks its edges as directed; None if it does not say."""
    labels: tuple[str, ...] = ()
    """Columns of nodes that hold labels by convention, and are no features."""
    notes: list[str] = field(default_factory=list)
    x: Tensor | None = None
    """The matrix behind the column ``x`` of nodes, if the file holds one."""
    files: dict[str, Path] = field(default_factory=dict)
    """For a folder, the file of each graph by the graph's name, sorted."""


def open_graph_file(path: Path, directed: bool = False) -> GraphTables:
    """The graph in a file. Unless ``directed``, a matrix or Data with each edge both ways is read as half of them."""
    suffix = check_file(path, SUFFIXES)
    if suffix in TABLE_SUFFIXES:
        return _edge_list(path)
    if suffix != path.suffix.lower() and suffix in (".npz", ".pt"):
        raise InputError(f"{path}: is packed by gzip, which {suffix} files are not; unpack it first")
    try:
        match suffix:
            case ".npz":
                return _sparse_matrix(path, directed)
            case ".pt":
                return _torch_data(path, directed)
            case ".graphml":
                return networkx_tables(nx.read_graphml(path), str(path))
            case _:
                return networkx_tables(nx.read_gml(path, label=None), str(path))
    except (InputError, MemoryError):
        raise
    except Exception as error:
        raise read_error(path, suffix, error) from error


def networkx_tables(graph: Any, name: str = "graph") -> GraphTables:
    """A networkx graph as tables of edges and nodes, with attributes as columns."""
    edges = list(graph.edges(data=True))
    ends = pl.DataFrame([_series("source", [u for u, _, _ in edges]), _series("target", [v for _, v, _ in edges])])
    nodes = pl.DataFrame([_series("id", list(graph))])
    return GraphTables(
        Table.from_frame(_with_attributes(ends, [data for _, _, data in edges]), f"{name} (edges)"),
        (Table.from_frame(_with_attributes(nodes, [data for _, data in graph.nodes(data=True)]), f"{name} (nodes)"),),
        "id",
        graph.is_directed(),
    )


def feature_column(name: str, x: Tensor) -> pl.Series:
    """A feature matrix as one column: lists of nonzero entries if these are few, else rows of numbers."""
    if x.layout == torch.strided and int(x.count_nonzero()) >= _DENSITY * x.numel():
        return pl.Series(name, x.float().numpy())
    matrix = to_scipy(x.float().to_sparse_csr())
    matrix.eliminate_zeros()
    entries = pl.DataFrame({"index": matrix.indices.astype(np.int64), "value": matrix.data.astype(np.float64)})
    flat = entries["index"] if bool((matrix.data == 1).all()) else entries.to_struct("entries")
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    lists = pl.DataFrame({"row": rows, "entries": flat}).group_by("row", maintain_order=True).agg("entries")
    every = pl.DataFrame({"row": np.arange(matrix.shape[0])}).join(lists, on="row", how="left", maintain_order="left")
    return every["entries"].fill_null(pl.Series([[]], dtype=every["entries"].dtype)).alias(name)


def _edge_list(path: Path) -> GraphTables:
    table = open_table(path, ENDS)
    usual = any(simple_name(name) in ENDS and len(name) > 1 for name in table.columns)
    if table.has_header and len(table.columns) == 2 and not usual:
        # The first line may be an edge. It is one if a later row has one of its names as a node.
        frame = table.read().cast(pl.String)
        if any(bool(frame[column].str.strip_chars().is_in(list(table.columns)).any()) for column in table.columns):
            note = f"{path} has no header: its first line is taken as an edge."
            return GraphTables(open_table(path, header=False), notes=[note])
    return GraphTables(table)


def _with_attributes(frame: pl.DataFrame, rows: list[dict[str, Any]]) -> pl.DataFrame:
    keys = dict.fromkeys(key for row in rows for key in row)
    names = {key: f"{key} (attribute)" if str(key) in frame.columns else str(key) for key in keys}
    return frame.with_columns(_series(name, [row.get(key) for row in rows]) for key, name in names.items())


def _series(name: str, values: list[Any]) -> pl.Series:
    """Values of any type; as text if they have no type in common."""
    simple = (str, int, float, bool, list, type(None))
    return pl.Series(name, [v if isinstance(v, simple) else str(v) for v in values], strict=False)


def _sparse_matrix(path: Path, directed: bool) -> GraphTables:
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path}: is no .npz file, or cut short; write it again by scipy.sparse.save_npz")
    # Never a pickle: loading one would run whatever code its author put there.
    with np.load(path, allow_pickle=False) as file:
        if "format" not in file:
            raise InputError(f"{path}: holds {', '.join(file)}, expected a matrix written by scipy.sparse.save_npz")
    matrix = scipy.sparse.load_npz(path).tocoo()
    rows, columns = matrix.shape
    if rows != columns:
        raise InputError(f"{path}: given a {rows:,} × {columns:,} matrix, expected as many columns as rows: adjacency")
    if matrix.dtype.kind not in "fiub":
        raise InputError(f"{path}: given entries of type {matrix.dtype}, expected numbers")
    nonzero = matrix.data != 0  # an explicit zero is no edge
    weight = matrix.data[nonzero].astype(np.float64)
    return _numbered_graph(path, matrix.row[nonzero], matrix.col[nonzero], weight, rows, directed)


def _numbered_graph(
    path: Path,
    source: NDArray[Any],
    target: NDArray[Any],
    weight: NDArray[np.float64] | None,
    num_nodes: int,
    directed: bool,
    **columns: pl.Series,
) -> GraphTables:
    """The tables of a graph whose nodes are numbers from 0, with ``columns`` of its nodes."""
    ends: dict[str, NDArray[Any]] = {"source": source.astype(np.int64), "target": target.astype(np.int64)}
    if weight is not None and not (weight == 1).all():
        ends["weight"] = weight
    edges, notes = pl.DataFrame(ends), []
    values = np.ones(len(source)) if weight is None else weight
    matrix = scipy.sparse.csr_matrix((values, (source, target)), shape=(num_nodes, num_nodes))
    if not directed and len(source) and not (matrix != matrix.T).nnz:
        edges = edges.filter(pl.col("source") <= pl.col("target"))
        notes = ["The file has every edge both ways; it was read once."]
    nodes = pl.DataFrame({"id": np.arange(num_nodes), **columns})
    tables = Table.from_frame(edges, str(path)), (Table.from_frame(nodes, str(path)),)
    return GraphTables(*tables, "id", labels=("y",) if "y" in columns else (), notes=notes)


def _torch_data(path: Path, directed: bool) -> GraphTables:
    data = _load_data(path)
    edge_index = data.get("edge_index")
    if not isinstance(edge_index, Tensor) or edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise InputError(f"{path}: has no edge_index of shape 2 × m; save a torch_geometric Data that has one")
    x, n = data.get("x"), data.get("num_nodes")
    if not isinstance(n, int):
        n = x.shape[0] if isinstance(x, Tensor) else int(edge_index.max()) + 1 if edge_index.numel() else 0
    if edge_index.numel() and not 0 <= int(edge_index.min()) <= int(edge_index.max()) < n:
        raise InputError(f"{path}: edge_index names node {int(edge_index.max())}, expected 0 to {n - 1}")
    weight = data.get("edge_weight")
    weight = weight.double().reshape(-1).numpy() if isinstance(weight, Tensor) else None
    x = x.detach() if isinstance(x, Tensor) else None
    columns = {}
    if x is not None:
        if x.dim() != 2 or x.shape[0] != n:
            raise InputError(f"{path}: x has shape {tuple(x.shape)}, expected a row for each of {n:,} nodes")
        columns["x"] = feature_column("x", x)
    y = data.get("y")
    if isinstance(y, Tensor) and y.shape in ((n,), (1,), (1, 1), ()):  # a label for each node, or for the graph
        columns["y"] = pl.Series("y", y.reshape(-1).expand(n).numpy())
    source, target = edge_index.long().numpy()
    return replace(_numbered_graph(path, source, target, weight, n, directed, **columns), x=x)


def _load_data(path: Path) -> dict[str, Any]:
    """The contents of a Data. Only tensors and the classes listed here are created: no code in the file can run."""
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage

    try:
        # safe_globals removes its classes at the end, also those that the user had allowed before: leave those out.
        allowed = torch.serialization.get_safe_globals()
        new = [kind for kind in (Data, DataEdgeAttr, DataTensorAttr, GlobalStorage) if kind not in allowed]
        with torch.serialization.safe_globals(new):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise InputError(
            f"{path}: is not a torch_geometric Data of tensors alone, and nothing else is loaded, since it could run "
            "code; save the edges and nodes as tables, or Data(x=..., edge_index=...) again"
        ) from error
    if isinstance(content, tuple) and len(content) > 1 and content[1] is None:  # a one-graph dataset of torch_geometric
        content = content[0]
    if isinstance(content, Data):
        content = {**content.to_dict(), "num_nodes": content.num_nodes}
    if not isinstance(content, dict):
        raise InputError(f"{path}: holds a {type(content).__name__}, expected a torch_geometric Data with one graph")
    return content
