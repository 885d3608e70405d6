"""METIS clusters: parts of a graph with few edges between them, so that a batch of parts is a graph of its own."""

from __future__ import annotations

import warnings
import zlib
from pathlib import Path

import numpy as np
import pymetis
import torch
from torch import Tensor

from girl.data.store import cache_root
from girl.errors import InputError
from girl.files import replacing
from girl.nn.graph import Graph

#: Graphs of fewer nodes are cut anew each time: that takes less than a second.
KEPT = 50_000


def partition(graph: Graph, parts: int, seed: int = 0) -> Tensor:
    """The part (0..parts-1) of each node, by METIS. Parts are about equal in size; none is empty.

    METIS wants an undirected graph: direction is ignored here, and only here. A graph of fewer nodes than ``parts``
    falls into its nodes.
    """
    n = graph.nodes
    if parts < 1:
        raise InputError(f"clusters: given {parts}, expected at least 1")
    if parts >= n:
        return torch.arange(n)
    if parts == 1:
        return torch.zeros(n, dtype=torch.long)
    both = graph if graph.symmetric else Graph.from_edges(graph.edge_index, n)
    if not both.adjacency.values().numel():
        # Without an edge any even cut is a best one; METIS refuses such a graph.
        return torch.arange(n) * parts // n
    crow, col = both.adjacency.crow_indices().cpu().numpy(), both.adjacency.col_indices().cpu().numpy()
    _, membership = pymetis.part_graph(parts, pymetis.CSRAdjacency(crow, col), options=pymetis.Options(seed=seed))
    # METIS may leave parts empty on small or odd graphs: the others are numbered without gaps.
    return torch.unique(torch.as_tensor(membership, dtype=torch.long), return_inverse=True)[1]


def kept_partition(graph: Graph, parts: int, seed: int = 0, folder: Path | None = None) -> Tensor:
    """As :func:`partition`, kept in the cache: a large graph takes METIS a minute, and the same cut serves every run.

    Args:
        graph: what is cut.
        parts: into how many.
        seed: of METIS.
        folder: the cache, by default ``clusters`` where datasets are kept. A file that cannot be read is made anew.
    """
    if graph.nodes < KEPT:
        return partition(graph, parts, seed)
    key = zlib.crc32(graph.adjacency.crow_indices().cpu().numpy().data)
    key = zlib.crc32(graph.adjacency.col_indices().cpu().contiguous().numpy().data, key)
    path = (folder or cache_root() / "clusters") / f"{graph.nodes}-{key:08x}-{parts}-{seed}.npy"
    try:
        found = torch.from_numpy(np.load(path, allow_pickle=False).astype(np.int64))
        if found.shape == (graph.nodes,) and int(found.min()) == 0 and int(found.max()) < parts:
            return found
    except (OSError, ValueError, EOFError):
        pass
    found = partition(graph, parts, seed)
    try:
        with replacing(path) as beside, beside.open("wb") as file:
            np.save(file, found.numpy().astype(np.int32))
    except OSError as error:  # a full disk costs the next run a minute, not this one its life
        warnings.warn(f"{path}: the cut of the graph could not be kept ({error.strerror})", stacklevel=2)
    return found


def members(part: Tensor) -> list[Tensor]:
    """The nodes of each part, in order."""
    order = part.argsort(stable=True)
    return list(order.split(torch.bincount(part).tolist()))
