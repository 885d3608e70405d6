"""Partitions of a graph by METIS: parts with few edges between them, so that a batch of parts is a graph of its own."""

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

#: Graphs of fewer nodes are not cached: they are partitioned in less than a second.
MIN_CACHED_NODES = 50_000

#: Entries of the adjacency matrix that METIS gets, about: it needs some 100 bytes for each in its coarser graphs. Of a
#: larger graph it gets a sample. With half of the edges, one to four percent fewer edges lie within parts.
MAX_ENTRIES = 64_000_000

#: But at least these for each node: beyond four million nodes METIS gets more.
MIN_ENTRIES_PER_NODE = 16

#: Rows of the matrix that are sampled together.
ROWS = 1 << 16


def partition(graph: Graph, parts: int, seed: int = 0) -> Tensor:
    """The part (0..parts-1) of each node, by METIS. Parts have about the same size; none is empty.

    METIS needs an undirected graph, so the direction of edges is ignored here. If there are no more nodes than
    ``parts``, every node is a part.
    """
    n = graph.num_nodes
    if parts < 1:
        raise InputError(f"clusters: given {parts}, expected at least 1")
    if parts >= n:
        return torch.arange(n)
    if parts == 1:
        return torch.zeros(n, dtype=torch.long)
    adjacency = (graph if graph.symmetric else graph.undirected()).adjacency
    if not adjacency.values().numel():
        # Without edges every even partition is a best one; METIS refuses such a graph.
        return torch.arange(n) * parts // n
    crow, col = adjacency.crow_indices().cpu().numpy(), adjacency.col_indices().cpu().numpy()
    if len(col) > (limit := max(MAX_ENTRIES, MIN_ENTRIES_PER_NODE * n)):
        crow, col = sample_entries(crow, col, limit)
    _, membership = pymetis.part_graph(parts, pymetis.CSRAdjacency(crow, col), options=pymetis.Options(seed=seed))
    # METIS may leave parts empty on small or odd graphs: the others are numbered without gaps.
    return torch.unique(torch.as_tensor(membership, dtype=torch.long), return_inverse=True)[1]


def sample_entries(crow: np.ndarray, col: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    r"""A random sample of about ``size`` entries of a symmetric CSR matrix, which is symmetric as well.

    An edge is kept with probability :math:`\min(1, k/\min(d_u,d_v))`: every node keeps about k of its edges or more,
    and all if it has no more. A uniform sample would leave nodes of small degree without any. Both directions of an
    edge share one random number, a hash of its ends: the same graph always gives the same sample.
    """
    n = len(crow) - 1
    degree = np.diff(crow)

    def blocks() -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
        for start in range(0, n, ROWS):
            ends = crow[start : start + ROWS + 1]
            row = np.repeat(np.arange(start, start + len(ends) - 1), np.diff(ends))
            other = col[ends[0] : ends[-1]].astype(np.int64)
            yield start, row, other, np.minimum(degree[row], degree[other])

    count = np.zeros(degree.max() + 1, dtype=np.int64)  # of edges by their smaller degree
    for *_, smaller in blocks():
        count += np.bincount(smaller, minlength=len(count))
    k = _edges_per_node(count, size)
    row_sizes, columns = np.zeros(n, dtype=np.int64), []
    for start, row, other, smaller in blocks():
        keep = pair_hash(row, other) * smaller < k
        end = min(start + ROWS, n)
        row_sizes[start:end] = np.bincount(row[keep] - start, minlength=end - start)
        columns.append(other[keep])
    return np.concatenate([[0], row_sizes.cumsum()]), np.concatenate(columns)


def _edges_per_node(count: np.ndarray, size: int) -> float:
    r"""The k with :math:`\sum_d c_d\min(1,k/d)=` ``size``, for :math:`c_d` edges whose smaller degree is d."""
    degree = np.arange(1, len(count))
    count = count[1:]
    # At k = d, edges of smaller degree d and below are all kept, and k/d of those above.
    kept = count.cumsum() + degree * (np.concatenate([(count / degree)[::-1].cumsum()[::-1][1:], [0.0]]))
    return float(np.interp(size, np.concatenate([[0.0], kept]), np.concatenate([[0.0], degree])))


def pair_hash(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A number in [0, 1) for each pair of nodes, the same for (u, v) and (v, u): the hash of SplitMix64."""
    z = (np.minimum(u, v).astype(np.uint64) << np.uint64(32)) + np.maximum(u, v).astype(np.uint64)
    z += np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)) * 2.0**-53  # 53 bits are what a double holds: never rounded up to 1


def cached_partition(graph: Graph, parts: int, seed: int = 0, folder: Path | None = None) -> Tensor:
    """As :func:`partition`, cached: METIS needs a minute for a large graph, and every run uses the same partition.

    Args:
        graph: the graph to cut.
        parts: into how many.
        seed: of METIS.
        folder: the cache, by default ``partitions`` in the cache folder. A damaged file is made again.
    """
    if graph.num_nodes < MIN_CACHED_NODES:
        return partition(graph, parts, seed)
    key = store.fingerprint(graph.adjacency.crow_indices(), graph.adjacency.col_indices(), parts, seed)
    path = (folder or cache_root() / "partitions") / f"{graph.num_nodes}-{key}.safetensors"
    return store.cached(path, lambda: ({"part": partition(graph, parts, seed).int()}, None))[0]["part"].long()


def nodes_by_part(part: Tensor) -> list[Tensor]:
    """The nodes of each part, in order."""
    order = part.argsort(stable=True)
    return list(order.split(torch.bincount(part).tolist()))
