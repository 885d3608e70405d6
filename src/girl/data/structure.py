"""What a node's place in a graph says about it, without labels and without ids."""

from __future__ import annotations

import networkx as nx  # type: ignore[import-untyped]
import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

#: Steps of the longest random walk.
WALK = 16


def structural_features(edge_index: Tensor, nodes: int) -> Tensor:
    """Per node, standardised: log(1 + in-degree), log(1 + out-degree), P(a walk of 2..16 steps ends where it began),
    PageRank, clustering coefficient, core number; n × 20.

    Dense in the n × n walks: for graphs of a few thousand nodes.
    """  # noqa: D205
    source, target = edge_index.numpy()
    adjacency = scipy.sparse.csr_matrix((np.ones(len(source)), (source, target)), shape=(nodes, nodes))
    graph = nx.from_scipy_sparse_array(adjacency, create_using=nx.DiGraph)
    simple = nx.Graph(graph)
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    ranks, cores, clustering = nx.pagerank(graph), nx.core_number(simple), nx.clustering(simple)
    incoming, outgoing = adjacency.sum(axis=0).A1, adjacency.sum(axis=1).A1
    columns = [np.log1p(incoming), np.log1p(outgoing), *_returns(adjacency.toarray())]
    columns += [np.array([of[node] for node in range(nodes)], dtype=float) for of in (ranks, clustering, cores)]
    x = np.stack(columns, axis=1)
    spread = x.std(axis=0)
    constant = spread <= 1e-9 * np.abs(x).max(axis=0)  # but for rounding
    return torch.from_numpy((x - x.mean(axis=0)) / np.where(constant, 1, spread)).float()


def _returns(adjacency: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """diag(Pᵏ), k = 2..16, from the powers up to 8 only: diag(PᵃPᵇ)ᵢ = Σⱼ (Pᵃ)ᵢⱼ (Pᵇ)ⱼᵢ."""
    degree = adjacency.sum(axis=1, keepdims=True)
    walk = np.divide(adjacency, degree, out=np.zeros_like(adjacency), where=degree > 0)
    powers = [walk]
    while len(powers) < WALK // 2:
        powers.append(powers[-1] @ walk)
    return [(powers[k // 2 - 1] * powers[k - k // 2 - 1].T).sum(axis=1) for k in range(2, WALK + 1)]


def positional_features(edge_index: Tensor, nodes: int, count: int = 32) -> Tensor:
    r"""Where a node is: the leading eigenvectors of the normalised adjacency matrix, n × count, each of spread 1.

    :math:`D^{-1/2}AD^{-1/2}` of the undirected graph; the first eigenvector, which is the degree, is left out. A sign
    is arbitrary: the largest entry is made positive. Columns that a small graph lacks are zero.
    """
    source, target = edge_index.numpy()
    adjacency = np.zeros((nodes, nodes))
    adjacency[source, target] = adjacency[target, source] = 1
    np.fill_diagonal(adjacency, 0)
    scale = 1 / np.sqrt(np.maximum(adjacency.sum(axis=1), 1))
    _, vectors = np.linalg.eigh(scale[:, None] * adjacency * scale)
    found = vectors[:, ::-1][:, 1 : count + 1]
    found = found * np.sign(found[np.abs(found).argmax(axis=0), np.arange(found.shape[1])])
    out = torch.zeros(nodes, count)
    out[:, : found.shape[1]] = torch.from_numpy(found * np.sqrt(nodes)).float()
    return out
