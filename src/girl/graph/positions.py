r"""Positions: where a node is in the graph, from the edges alone.

Nodes that share many neighbours get vectors that are close. They are a factorisation of the edges' log ratios, which
random-walk methods such as DeepWalk and node2vec approximate by sampling (Qiu et al., WSDM 2018).
"""

from __future__ import annotations

import torch
from torch import Tensor

from girl.graph.graph import Graph
from girl.graph.propagate import propagate
from girl.graph.subspace import OVERSAMPLE, iterate_subspace, orthonormalize
from girl.kernel.sparse import SparseMatrix, csr

#: Columns of positions, at most and at least. A graph of many communities needs many columns.
POSITIONS, FEWEST = 512, 128
#: Entries of the matrix of positions: a graph of more than 50,000 nodes gets fewer columns.
ENTRIES = 25_600_000
#: A column needs this many nodes: with fewer it is noise.
NODES_PER_COLUMN = 4
#: Products with the matrix. Each is half a pass of a randomised SVD.
PRODUCTS = 6
#: Smoothing afterwards: a node of few edges has a noisy position, which its neighbours' improve. Without it, positions
#: tell small circles of neighbours apart; with it, regions of the graph.
TELEPORT, STEPS = 0.15, 10


def num_positions(num_nodes: int) -> int:
    """How many columns of positions a graph has."""
    by_memory = max(ENTRIES // max(num_nodes, 1), FEWEST)
    return max(min(POSITIONS, by_memory, num_nodes // NODES_PER_COLUMN), 1)


def positions(graph: Graph, count: int, seed: int = 0) -> Tensor:
    r"""The position of each node (n × count): a low-rank factorisation of the positive log ratios of the edges.

    .. math:: M_{ij} = \max\Bigl(0, \log\frac{A_{ij}\,\sum_k d_k}{d_i d_j}\Bigr) \approx U \Lambda U^\top, \qquad
        P = \mathrm{PPR}(U|\Lambda|^{1/2}).

    An edge between two nodes of low degree counts more than one that chance would bring. Directions of edges do not
    matter. Columns that a small graph lacks are zero.

    Args:
        graph: the graph.
        count: number of columns.
        seed: seed of the first subspace.
    """
    n = graph.num_nodes
    out = torch.zeros(n, count, device=graph.device)
    if not graph.symmetric:
        graph = Graph.from_edges(graph.edge_index, n)
    if n < 3 or not graph.adjacency.values().numel():
        return out
    matrix = SparseMatrix(_log_ratios(graph), symmetric=True)
    generator = torch.Generator(graph.device).manual_seed(seed)
    start = torch.randn(n, min(count + OVERSAMPLE, n), generator=generator, device=graph.device)
    basis = orthonormalize(iterate_subspace(matrix.product, start, PRODUCTS, 2))
    values, vectors = torch.linalg.eigh((basis.T @ matrix.product(basis)).double())
    order = values.abs().argsort(descending=True)[:count]
    factors = basis @ (vectors[:, order] * values[order].abs().sqrt()).to(basis.dtype)
    sign = factors.gather(0, factors.abs().argmax(0, keepdim=True)).sign().where(factors.any(0), 1.0)
    out[:, : len(order)] = propagate(graph.gcn, factors * sign, TELEPORT, STEPS)
    return out


def _log_ratios(graph: Graph) -> Tensor:
    """The matrix M above, as a CSR tensor with the pattern of the edges."""
    adjacency = graph.adjacency
    degree = graph.weighted_degree
    source, target = degree[adjacency.col_indices()], degree[graph.edge_target]
    values = (adjacency.values() * degree.sum() / (source * target)).log().clamp(min=0)
    return csr(adjacency.crow_indices(), adjacency.col_indices(), values, graph.shape)
