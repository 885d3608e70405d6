"""METIS clusters: parts of a graph with few edges between them, so that a batch of parts is a graph of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pymetis
import torch
from torch import Tensor

from girl import store
from girl.errors import InputError
from girl.files import cache_root
from girl.graph.graph import Graph

#: Graphs of fewer nodes are cut anew each time: that takes less than a second.
KEPT = 50_000

#: Entries of the adjacency matrix that METIS is shown, about. It holds some 100 bytes for each in its coarser graphs.
#: Where a graph has more, it sees a sample: half of the edges cost parts one to four points of those within them.
SHOWN = 64_000_000

#: But not fewer than these for a node: beyond four million nodes more are shown.
PER_NODE = 16

#: Rows of the matrix that are thinned out together.
ROWS = 1 << 16


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
    if len(col) > (most := max(SHOWN, PER_NODE * n)):
        crow, col = thinned(crow, col, most)
    _, membership = pymetis.part_graph(parts, pymetis.CSRAdjacency(crow, col), options=pymetis.Options(seed=seed))
    # METIS may leave parts empty on small or odd graphs: the others are numbered without gaps.
    return torch.unique(torch.as_tensor(membership, dtype=torch.long), return_inverse=True)[1]


def thinned(crow: np.ndarray, col: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    r"""A symmetric matrix of about ``most`` entries, a sample of those of a larger one, as CSR.

    An edge stays with probability :math:`\min(1, k/\min(d_u,d_v))`: every node keeps about k of its edges or more, and
    all if it has no more. A uniform sample would leave nodes of small degree without any.
    Both directions of an edge share one number, which is a hash of its ends: the same graph is thinned out alike.
    """
    n = len(crow) - 1
    degree = np.diff(crow)

    def blocks() -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
        for start in range(0, n, ROWS):
            ends = crow[start : start + ROWS + 1]
            row = np.repeat(np.arange(start, start + len(ends) - 1), np.diff(ends))
            other = col[ends[0] : ends[-1]].astype(np.int64)
            yield start, row, other, np.minimum(degree[row], degree[other])

    smaller = np.zeros(degree.max() + 1, dtype=np.int64)
    for *_, least in blocks():
        smaller += np.bincount(least, minlength=len(smaller))
    keep = _kept_edges(smaller, most)
    counts, parts = np.zeros(n, dtype=np.int64), []
    for start, row, other, least in blocks():
        stays = _draw(row, other) * least < keep
        end = min(start + ROWS, n)
        counts[start:end] = np.bincount(row[stays] - start, minlength=end - start)
        parts.append(other[stays])
    return np.concatenate([[0], counts.cumsum()]), np.concatenate(parts)


def _kept_edges(smaller: np.ndarray, most: int) -> float:
    r"""The k with :math:`\sum_d c_d\min(1,k/d)=` ``most``, for :math:`c_d` edges whose smaller degree is d."""
    degree = np.arange(1, len(smaller))
    count = smaller[1:]
    # At k = d, edges of smaller degree d and below are all kept, and k/d of those above.
    at = count.cumsum() + degree * (np.concatenate([(count / degree)[::-1].cumsum()[::-1][1:], [0.0]]))
    return float(np.interp(most, np.concatenate([[0.0], at]), np.concatenate([[0.0], degree])))


def _draw(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """A number from 0 to 1 for each pair of nodes, whatever their order: the finalizer of SplitMix64."""
    z = (np.minimum(one, other).astype(np.uint64) << np.uint64(32)) + np.maximum(one, other).astype(np.uint64)
    z = (z + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) / np.float64(2**64)


def cached_partition(graph: Graph, parts: int, seed: int = 0, folder: Path | None = None) -> Tensor:
    """As :func:`partition`, cached: METIS needs a minute for a large graph, and every run uses the same partition.

    Args:
        graph: the graph to cut.
        parts: into how many.
        seed: of METIS.
        folder: the cache, by default ``partitions`` in the cache folder. A damaged file is made again.
    """
    if graph.nodes < KEPT:
        return partition(graph, parts, seed)
    key = store.fingerprint(graph.adjacency.crow_indices(), graph.adjacency.col_indices(), parts, seed)
    path = (folder or cache_root() / "partitions") / f"{graph.nodes}-{key}.safetensors"
    return store.cached(path, lambda: ({"part": partition(graph, parts, seed).int()}, None))[0]["part"].long()


def members(part: Tensor) -> list[Tensor]:
    """The nodes of each part, in order."""
    order = part.argsort(stable=True)
    return list(order.split(torch.bincount(part).tolist()))
