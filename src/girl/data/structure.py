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
