"""A named graph, or set of graphs, written as the files that ``girl embed`` reads."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import torch
from torch_geometric.data import Data

from girl.files import replacing
from girl.tables.graph_files import feature_column

EDGES, NODES, GRAPHS = "edges.csv", "nodes.parquet", "graphs.csv"


def export_graph(data: Data, folder: Path) -> list[Path]:
    """Write ``edges.csv`` (source, target; each edge of an undirected graph once) and ``nodes.parquet``.

    The node table has the columns id, label (or labels, a list, if nodes have several) and either one for each
    feature, f0, f1 and so on, or, if most features are zero, ``features``: the list of those that are not. For a set
    of graphs, where ``data.graph`` is the graph of each node and ``data.y`` has a label for each graph, both also have
    the column graph, and labels are in a third file, ``graphs.csv`` (graph, label).

    Returns:
        The paths of the files.
    """
    edges = pl.DataFrame(data.edge_index.T.numpy(), schema=["source", "target"]).unique().sort(pl.all())
    if edges.equals(edges.select(pl.col("target").alias("source"), pl.col("source").alias("target")).sort(pl.all())):
        edges = edges.filter(pl.col("source") <= pl.col("target"))  # undirected: each edge once
    if data.y.dim() == 2:
        labels = pl.Series("labels", [row.nonzero().flatten().tolist() for row in data.y])
    else:
        labels = pl.Series("label", [str(y) if y >= 0 else None for y in data.y.tolist()], pl.String)
    nodes = pl.DataFrame({"id": range(data.x.shape[0])})
    frames = {EDGES: edges, NODES: nodes if "graph" in data else nodes.with_columns(labels)}
    if data.x.layout == torch.strided:
        names = [f"f{i}" for i in range(data.x.shape[1])]
        frames[NODES] = frames[NODES].hstack(pl.DataFrame(data.x.numpy(), schema=names))
    else:
        frames[NODES] = frames[NODES].with_columns(feature_column("features", data.x))
    if "graph" in data:
        graph = pl.Series("graph", data.graph.numpy())
        edges.insert_column(0, graph.gather(edges["source"]))
        frames[NODES].insert_column(0, graph)
        frames[GRAPHS] = pl.DataFrame([pl.Series("graph", range(len(labels))), labels])
    for name, frame in frames.items():
        with replacing(folder / name) as temporary:
            (frame.write_parquet if name == NODES else frame.write_csv)(temporary)
    return [folder / name for name in frames]
