r"""Weisfeiler-Lehman colours of the nodes of a set of graphs, and how often each colour occurs in a graph.

A node's colour at depth 0 is its row of features; at depth k + 1 it is its colour at depth k with the multiset of those
of its neighbours. Two nodes have the same colour at depth k if their surroundings up to k steps look the same to
message passing. Colours are 64-bit hashes, so that the same surroundings have the same colour in every set, and no
dictionary has to be kept. The hash of a multiset is a sum of hashes, which does not depend on the order.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from girl.graph.graph import Graph
from girl.kernel.sparse import to_scipy

Colors = NDArray[np.uint64]

#: Columns into which the colours of one depth are hashed.
COLUMNS = 1024
#: Multipliers and shifts of the finaliser of SplitMix64 (Steele et al., 2014), and its increment.
MULTIPLIERS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
INCREMENT = np.uint64(0x9E3779B97F4A7C15)


def mix(values: Colors) -> Colors:
    """A hash of each number: every bit of the result depends on every bit of the number."""
    with np.errstate(over="ignore"):
        values = values + INCREMENT
        values = (values ^ (values >> SHIFTS[0])) * MULTIPLIERS[0]
        values = (values ^ (values >> SHIFTS[1])) * MULTIPLIERS[1]
    return values ^ (values >> SHIFTS[2])


def row_colors(rows: scipy.sparse.csr_matrix) -> Colors:
    """A colour for each row (n × d) of whole numbers: equal rows have the same, different ones hardly ever."""
    salts = mix(np.arange(1, rows.shape[1] + 1, dtype=np.uint64))
    entries = mix(rows.data.astype(np.int64).astype(np.uint64) ^ salts[rows.indices])
    entries[rows.data == 0] = 0
    pattern = scipy.sparse.csr_matrix((entries, rows.indices, rows.indptr), shape=rows.shape)
    return mix(pattern @ np.ones(rows.shape[1], np.uint64))


def refine(colors: Colors, graph: Graph) -> Colors:
    """The colours at the next depth. In a directed graph, in- and out-neighbours are different multisets."""
    adjacency = to_scipy(graph.adjacency.cpu())
    pattern = scipy.sparse.csr_matrix(
        (np.ones(adjacency.nnz, np.uint64), adjacency.indices, adjacency.indptr), shape=adjacency.shape
    )
    with np.errstate(over="ignore"):
        total = mix(colors) + pattern @ mix(colors + np.uint64(1))
        if not graph.symmetric:
            total = total + pattern.T.tocsr() @ mix(colors + np.uint64(2))
    return mix(total)


def occurrences(colors: Colors, graph_id: NDArray[np.int64]) -> tuple[NDArray[np.int64], Colors]:
    """For each node the graph, and a hash of its colour and of how often the colour came before in the graph."""
    order = np.lexsort((colors, graph_id))
    colors, graphs = colors[order], graph_id[order]
    first = np.ones(len(colors), bool)
    first[1:] = (colors[1:] != colors[:-1]) | (graphs[1:] != graphs[:-1])
    start = np.maximum.accumulate(np.where(first, np.arange(len(colors)), 0))
    occurrence = (np.arange(len(colors)) - start).astype(np.uint64)  # 0, 1, .. within a graph and colour
    with np.errstate(over="ignore"):
        return graphs, mix(colors + mix(occurrence))


def count_columns(
    colors: Colors, graph_id: NDArray[np.int64], num_graphs: int, width: int = COLUMNS
) -> scipy.sparse.csr_matrix:
    r"""How often each colour occurs in each graph, as sparse columns (num_graphs × width).

    A colour that occurs c times has c entries: for "at least 1", "at least 2", up to c. Inner products of two graphs
    are then :math:`\sum_q \min(c_q, c'_q)`, the kernel of optimal assignments (Kriege et al., 2016). Entries are hashed
    to a column and a sign, which leaves inner products right on average. A graph of n nodes is divided by
    :math:`n^{1/4}`, halfway between counts and their directions, so that neither large nor small graphs crowd together.
    """
    graphs, entry = occurrences(colors, graph_id)
    column = (entry % np.uint64(width)).astype(np.int64)
    sign = 1 - 2 * ((entry >> np.uint64(63)).astype(np.float32))
    sizes = np.bincount(graph_id, minlength=num_graphs)
    values = sign * np.maximum(sizes, 1)[graphs].astype(np.float32) ** -0.25
    return scipy.sparse.csr_matrix((values, (graphs, column)), shape=(num_graphs, width))
