"""Small graphs with node attributes, written as a folder of files or as tables."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import polars as pl
import scipy.sparse
import torch
from torch_geometric.data import Data


def molecule(seed: int, ring: bool) -> nx.Graph:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    graph = nx.cycle_graph(n) if ring else nx.path_graph(n)
    for node in graph:
        graph.nodes[node].update(atom="CNO"[int(rng.integers(3))], charge=round(rng.normal(), 3))
    return graph


def write(graphs: dict[str, nx.Graph], folder: Path, kind: str) -> Path:
    folder.mkdir()
    for name, graph in graphs.items():
        path = folder / f"{name}.{kind}"
        match kind:
            case "graphml":
                nx.write_graphml(graph, path)
            case "gml":
                nx.write_gml(graph, path)
            case "csv" | "tsv":
                ends = pl.DataFrame(list(graph.edges), schema=["source", "target"], orient="row")
                ends.write_csv(path, separator="," if kind == "csv" else "\t")
            case "npz":
                scipy.sparse.save_npz(path, nx.to_scipy_sparse_array(graph))
            case "pt":
                charge = torch.tensor([[graph.nodes[i]["charge"], 0.0, 0.0] for i in graph])
                edges = torch.tensor(list(graph.edges)).T
                torch.save(Data(x=charge, edge_index=edges, y=torch.tensor([int(graph.number_of_edges() % 2)])), path)
    return folder


def tables(graphs: dict[str, nx.Graph]) -> tuple[pl.DataFrame, pl.DataFrame]:
    edges = [(name, u, v) for name, graph in graphs.items() for u, v in graph.edges]
    nodes = [(name, i, *graph.nodes[i].values()) for name, graph in graphs.items() for i in graph]
    return (
        pl.DataFrame(edges, schema=["graph", "source", "target"], orient="row"),
        pl.DataFrame(nodes, schema=["graph", "id", "atom", "charge"], orient="row"),
    )


SET = {name: molecule(index, index % 2 == 0) for index, name in enumerate(["m2", "m10", "m1", "x.y"])}
