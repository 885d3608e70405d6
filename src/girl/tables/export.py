"""A named graph, or set of graphs, as the files that a user would have: an edge list and tables of what is known."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import torch

from girl.datasets.dataset import NodeDataset
from girl.files import replacing
from girl.tables.graph_files import matrix_column

EDGES, NODES, GRAPHS = "edges.csv", "nodes.parquet", "graphs.csv"


def export_graph(dataset: NodeDataset, folder: Path) -> list[Path]:
    """Write ``edges.csv`` (source, target; of an undirected graph each edge once) and ``nodes.parquet``.

    The node table has the columns id, label (or labels, a list, where a node has several) and either one for each
    feature, f0, f1 and so on, or, where most features are zero, ``features``: the list of those that are not. Of a set
    of graphs both also have the column graph, and labels are in a third file, ``graphs.csv`` (graph, label).

    Returns:
        The paths of the files.
    """
    data = dataset.data
    n = data.x.shape[0]
    edges = pl.DataFrame(data.edge_index.T.numpy(), schema=["source", "target"]).unique().sort(pl.all())
    if edges.equals(edges.select(pl.col("target").alias("source"), pl.col("source").alias("target")).sort(pl.all())):
        edges = edges.filter(pl.col("source") <= pl.col("target"))  # undirected: each edge once
    if dataset.multilabel:
        labels = pl.Series("labels", [row.nonzero().flatten().tolist() for row in data.y])
    else:
        labels = pl.Series("label", [str(y) if y >= 0 else None for y in data.y.tolist()], pl.String)
    table = pl.DataFrame({"id": range(n)})
    if not dataset.graphs:
        table = table.with_columns(labels)
    if data.x.layout == torch.strided:
        table = table.hstack(pl.DataFrame(data.x.numpy(), schema=[f"f{i}" for i in range(data.x.shape[1])]))
    else:
        table = table.with_columns(matrix_column("features", data.x))
    paths = [folder / EDGES, folder / NODES]
    if dataset.graphs:
        owner = pl.Series("graph", data.graph.numpy())
        edges = edges.insert_column(0, owner.gather(edges["source"]))
        table = table.insert_column(0, owner)
        with replacing(folder / GRAPHS) as beside:
            labels.to_frame().insert_column(0, pl.Series("graph", range(dataset.graphs))).write_csv(beside)
        paths.append(folder / GRAPHS)
    with replacing(folder / EDGES) as beside:
        edges.write_csv(beside)
    with replacing(folder / NODES) as beside:
        table.write_parquet(beside)
    return paths
