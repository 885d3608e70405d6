"""Files that hold a whole graph: a sparse matrix, a torch_geometric Data, GraphML, GML. As tables, like any other."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
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
from girl.tables.table import Table, check_file, first_line

GRAPHS = (".npz", ".pt", ".graphml", ".gml")

#: Below this share of entries a matrix of features is kept as lists of what is not zero.
_SPARSE = 0.15


@dataclass(frozen=True)
class GraphFile:
    """A graph as tables."""

    edges: Table
    nodes: Table | None = None
    """What the file itself says about nodes."""
    directed: bool | None = None
    """What the file says, if it does."""
    labels: tuple[str, ...] = ()
    """Columns of nodes that are labels by the format's habit: never features."""
    notes: list[str] = field(default_factory=list)
    x: Tensor | None = None
    """The matrix that the column ``x`` of nodes was made of, where the file holds one."""


def read_graph_file(path: Path, directed: bool = False) -> GraphFile:
    """The graph in ``path``. Unless it is wanted ``directed``, an edge that stands both ways is read once."""
    suffix = check_file(path, GRAPHS)
    if suffix != path.suffix.lower() and suffix in (".npz", ".pt"):
        raise InputError(f"{path}: is packed by gzip, which {suffix} files are not; unpack it first")
    try:
        match suffix:
            case ".npz":
                return _sparse_matrix(path, directed)
            case ".pt":
                return _torch_data(path, directed)
            case ".graphml":
                return graph_tables(nx.read_graphml(path), str(path))
            case _:
                return graph_tables(nx.read_gml(path, label=None), str(path))
    except (InputError, MemoryError):
        raise
    except Exception as error:
        raise InputError(f"{path}: cannot be read as {suffix}: {first_line(error)}; write it anew") from error


def graph_tables(graph: Any, name: str = "graph") -> GraphFile:
    """A networkx graph as tables of edges and nodes, with their attributes as columns."""
    edges = list(graph.edges(data=True))
    ends = pl.DataFrame([_series("source", [u for u, _, _ in edges]), _series("target", [v for _, v, _ in edges])])
    nodes = pl.DataFrame([_series("id", list(graph))])
    return GraphFile(
        Table.of(_attributes(ends, [data for _, _, data in edges]), f"{name} (edges)"),
        Table.of(_attributes(nodes, [data for _, data in graph.nodes(data=True)]), f"{name} (nodes)"),
        graph.is_directed(),
    )


def _attributes(frame: pl.DataFrame, rows: list[dict[str, Any]]) -> pl.DataFrame:
    keys = dict.fromkeys(key for row in rows for key in row)
    columns = []
    for key in keys:
        name = f"{key} (attribute)" if str(key) in frame.columns else str(key)
        columns.append(_series(name, [row.get(key) for row in rows]))
    return frame.with_columns(columns)


def _series(name: str, values: list[Any]) -> pl.Series:
    """Values of any kind: text, where they have no kind in common."""
    simple = (str, int, float, bool, list, type(None))
    return pl.Series(name, [v if isinstance(v, simple) else str(v) for v in values], strict=False)


def _sparse_matrix(path: Path, directed: bool) -> GraphFile:
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path}: is no .npz file, or cut short; write it anew by scipy.sparse.save_npz")
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
    kept = matrix.data != 0  # an entry that is stored and zero is no edge
    source, target, weight = matrix.row[kept], matrix.col[kept], matrix.data[kept].astype(np.float64)
    frame, notes = _edges(source, target, weight, rows, directed)
    return GraphFile(Table.of(frame, str(path)), _numbered(path, rows), notes=notes)


def _edges(
    source: NDArray[Any], target: NDArray[Any], weight: NDArray[np.float64] | None, nodes: int, directed: bool
) -> tuple[pl.DataFrame, list[str]]:
    columns: dict[str, NDArray[Any]] = {"source": source.astype(np.int64), "target": target.astype(np.int64)}
    if weight is not None and not (weight == 1).all():
        columns["weight"] = weight
    frame, notes = pl.DataFrame(columns), []
    ones = np.ones(len(source)) if weight is None else weight
    matrix = scipy.sparse.csr_matrix((ones, (source, target)), shape=(nodes, nodes))
    if not directed and len(source) and not (matrix != matrix.T).nnz:
        frame = frame.filter(pl.col("source") <= pl.col("target"))
        notes = ["Every edge stands in the file both ways; it was read once."]
    return frame, notes


def _numbered(path: Path, nodes: int, **columns: pl.Series) -> Table:
    return Table.of(pl.DataFrame({"id": np.arange(nodes), **columns}), str(path))


def _torch_data(path: Path, directed: bool) -> GraphFile:
    data = _load_data(path)
    edge_index = data.get("edge_index")
    if not isinstance(edge_index, Tensor) or edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise InputError(f"{path}: has no edge_index of shape 2 × m; save a torch_geometric Data that has one")
    x, nodes = data.get("x"), data.get("num_nodes")
    if not isinstance(nodes, int):
        nodes = x.shape[0] if isinstance(x, Tensor) else int(edge_index.max()) + 1 if edge_index.numel() else 0
    if edge_index.numel() and not 0 <= int(edge_index.min()) <= int(edge_index.max()) < nodes:
        raise InputError(f"{path}: edge_index names node {int(edge_index.max())}, expected 0 to {nodes - 1}")
    weight = data.get("edge_weight")
    if isinstance(weight, Tensor):
        weight = weight.double().reshape(-1).numpy()
    source, target = edge_index.long().numpy()
    frame, notes = _edges(source, target, weight, nodes, directed)
    columns = {}
    if isinstance(x, Tensor):
        if x.dim() != 2 or x.shape[0] != nodes:
            raise InputError(f"{path}: x has shape {tuple(x.shape)}, expected a row for each of {nodes:,} nodes")
        columns["x"] = matrix_column("x", x.detach())
    y = data.get("y")
    if isinstance(y, Tensor) and y.shape in ((nodes,), (1,), (1, 1), ()):  # of the nodes, or of the whole graph
        columns["y"] = pl.Series("y", y.reshape(-1).expand(nodes).numpy())
    labels = ("y",) if "y" in columns else ()
    table, x = _numbered(path, nodes, **columns), x.detach() if isinstance(x, Tensor) else None
    return GraphFile(Table.of(frame, str(path)), table, labels=labels, notes=notes, x=x)


def _load_data(path: Path) -> dict[str, Any]:
    """What a Data holds. Only tensors and the classes listed here are made: no code in the file can run."""
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage

    try:
        # At the end of the block torch forbids what it allowed: what others had allowed before must not be among that.
        known = torch.serialization.get_safe_globals()
        ours = [kind for kind in (Data, DataEdgeAttr, DataTensorAttr, GlobalStorage) if kind not in known]
        with torch.serialization.safe_globals(ours):
            found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise InputError(
            f"{path}: is not a torch_geometric Data of tensors alone, and nothing else is loaded, since it could run "
            "code; save the edges and nodes as tables, or Data(x=..., edge_index=...) anew"
        ) from error
    if isinstance(found, tuple) and len(found) > 1 and found[1] is None:  # as torch_geometric keeps one-graph datasets
        found = found[0]
    if isinstance(found, Data):
        nodes = found.num_nodes
        found = {**found.to_dict(), "num_nodes": nodes}
    if not isinstance(found, dict):
        raise InputError(f"{path}: holds a {type(found).__name__}, expected a torch_geometric Data with one graph")
    return found


def matrix_column(name: str, x: Tensor) -> pl.Series:
    """A matrix of features as one column: lists of what is not zero where that is little, else rows of numbers."""
    if x.layout == torch.strided and int(x.count_nonzero()) >= _SPARSE * x.numel():
        return pl.Series(name, x.float().numpy())
    matrix = _scipy(x)
    matrix.eliminate_zeros()
    entries = pl.DataFrame({"index": matrix.indices.astype(np.int64), "value": matrix.data.astype(np.float64)})
    flat = entries["index"] if bool((matrix.data == 1).all()) else entries.to_struct("entries")
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    lists = pl.DataFrame({"row": rows, "entries": flat}).group_by("row", maintain_order=True).agg("entries")
    every = pl.DataFrame({"row": np.arange(matrix.shape[0])}).join(lists, on="row", how="left", maintain_order="left")
    return every["entries"].fill_null(pl.Series([[]], dtype=every["entries"].dtype)).alias(name)


def _scipy(x: Tensor) -> scipy.sparse.csr_matrix:
    if x.layout == torch.strided:
        return scipy.sparse.csr_matrix(x.float().numpy())
    x = x.coalesce() if x.layout == torch.sparse_coo else x.to_sparse().coalesce()
    return scipy.sparse.csr_matrix((x.values().float().numpy(), x.indices().numpy()), shape=tuple(x.shape))
