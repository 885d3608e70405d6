"""How well a representation keeps the graph: are neighbours in the graph near each other?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from torch import Tensor

from girl.evaluation.design_matrix import sample
from girl.graph.adjacency import build_adjacency
from girl.kernel.sparse import to_scipy

#: Names of representations in reports and tables.
RAW, BAG, UNTRAINED, GIRL = "raw features", "bag of nodes", "untrained encoder", "GIRL"

#: Edges, and pairs of nodes without an edge, whose similarity is compared: the AUC is then known to about ± 0.01.
PAIRS = 5000

#: Nearest nodes that are checked, and the number of comparisons (queries × nodes) that finding them may take.
NEAREST = 10
COMPARISONS = 200_000_000
QUERIES = (100, 1000)

Nodes = NDArray[np.int64]


@dataclass(frozen=True)
class NeighborhoodScore:
    """How well a representation keeps the graph; None where there is nothing to compare."""

    name: str
    link_auc: float | None
    """AUC: the probability that the ends of an edge are more similar than two nodes without one."""
    one_hop: float | None
    """Of a node's nearest (as many as it has neighbours, at most ten), the fraction that are its neighbours."""
    two_hops: float | None
    """The fraction that are its neighbours or neighbours of those."""


def neighbourhoods(edge_index: Tensor | NDArray[np.integer], nodes: int) -> scipy.sparse.csr_array:
    """The adjacency matrix of the undirected graph, n × n of ones, as a scipy array."""
    return scipy.sparse.csr_array(to_scipy(build_adjacency(torch.as_tensor(edge_index), nodes)))


class CosineSimilarity:
    """Cosine similarities of centred rows, dense or CSR; a row that equals the mean has similarity 0 to all.

    They do not change when a representation is shifted, scaled or rotated, so representations can be compared.
    """

    def __init__(self, h: Tensor) -> None:
        self._n = len(h)
        self._h = h if h.layout == torch.strided else None
        if self._h is not None:
            self._mean = self._h.mean(0, dtype=torch.float64).float()
            return
        # (x - μ)·(y - μ) = x·y - x·μ - y·μ + μ·μ: a sparse matrix stays sparse.
        self._rows = to_scipy(h.double())
        mean = np.asarray(self._rows.mean(axis=0)).ravel()
        self._dot_mean, self._mean_square = self._rows @ mean, float(mean @ mean)
        squares = np.asarray(self._rows.multiply(self._rows).sum(axis=1)).ravel()
        centered = squares - 2 * self._dot_mean + self._mean_square
        self._lengths = np.where(centered > 1e-12 * squares.max(initial=0), np.sqrt(np.maximum(centered, 0)), np.inf)

    def pairs(self, left: Nodes, right: Nodes) -> NDArray[np.float64]:
        """The similarity of each pair (left[i], right[i])."""
        if self._h is not None:
            return (self._unit(left) * self._unit(right)).sum(1).double().numpy()
        dots = np.asarray(self._rows[left].multiply(self._rows[right]).sum(axis=1)).ravel()
        centered = dots - self._dot_mean[left] - self._dot_mean[right] + self._mean_square
        return centered / self._lengths[left] / self._lengths[right]

    def matrix(self, left: Nodes, right: Nodes) -> Tensor:
        """The similarity of every node of ``left`` to every node of ``right``."""
        if self._h is not None:
            return self._unit(left) @ self._unit(right).T
        dots = (self._rows[left] @ self._rows[right].T).toarray()
        centered = dots - self._dot_mean[left][:, None] - self._dot_mean[right] + self._mean_square
        return torch.from_numpy(centered / self._lengths[left][:, None] / self._lengths[right])

    def nearest(
        self, queries: Nodes, count: int, generator: torch.Generator | None = None
    ) -> tuple[Nodes, NDArray[np.float64]]:
        """The most similar other nodes of each query, the nearest first, and their similarities: both q × count.

        Args:
            queries: the nodes whose nearest are wanted (q).
            count: how many, at most n - 1.
            generator: breaks ties at random, so that the order of equal rows does not matter.
        """
        count = min(count, self._n - 1)
        best = torch.zeros(len(queries), 0)
        nearest = torch.zeros(len(queries), 0, dtype=torch.int64)
        for start in range(0, self._n, 8192):
            block = np.arange(start, min(start + 8192, self._n))
            similarity = self.matrix(queries, block).float()
            if generator is not None:
                similarity += 1e-6 * torch.rand(similarity.shape, generator=generator)
            inside = np.flatnonzero((queries >= start) & (queries <= block[-1]))
            similarity[inside, queries[inside] - start] = -torch.inf  # a node is not its own neighbour
            top, index = similarity.topk(min(count, len(block)), dim=1)
            best, order = torch.cat([best, top], 1).topk(min(count, best.shape[1] + top.shape[1]), dim=1)
            nearest = torch.cat([nearest, start + index], 1).gather(1, order)
        return nearest.numpy(), best.double().numpy()

    def _unit(self, nodes: Nodes) -> Tensor:
        assert self._h is not None
        rows = self._h[torch.from_numpy(nodes)] - self._mean
        lengths = rows.norm(dim=1, keepdim=True)
        # A row that equals the mean up to rounding has no direction.
        return torch.where(lengths > 1e-6 * self._mean.norm(), rows / lengths.clamp(min=1e-30), 0.0)


def score_neighborhoods(
    representations: Mapping[str, Tensor], adjacency: scipy.sparse.csr_array, seed: int = 0
) -> tuple[list[NeighborhoodScore], NeighborhoodScore]:
    """The score of each representation, on the same sampled pairs and nodes, and the score of chance."""
    rng = np.random.default_rng(seed)
    edges, non_edges = _edges(adjacency, rng), _non_edges(adjacency, rng)
    is_edge = np.repeat([1, 0], [len(edges[0]), len(non_edges[0])])
    has_pairs = 0 < is_edge.sum() < len(is_edge)
    degree = np.diff(adjacency.indptr)
    queries = np.flatnonzero(degree)
    queries = queries[sample(len(queries), int(np.clip(COMPARISONS // max(len(degree), 1), *QUERIES)), seed).numpy()]
    scores = []
    for name, h in representations.items():
        cosine = CosineSimilarity(h)
        similarity = np.concatenate([cosine.pairs(*edges), cosine.pairs(*non_edges)])
        auc = float(roc_auc_score(is_edge, similarity)) if has_pairs else None
        hops = _hop_rates(cosine, adjacency, queries, seed) if len(queries) else (None, None)
        scores.append(NeighborhoodScore(name, auc, *hops))
    hops = _chance_rates(adjacency, queries, rng) if len(queries) else (None, None)
    return scores, NeighborhoodScore("chance", 0.5 if has_pairs else None, *hops)


def _edges(adjacency: scipy.sparse.csr_array, rng: np.random.Generator) -> tuple[Nodes, Nodes]:
    source, target = scipy.sparse.triu(adjacency, 1).nonzero()
    chosen = rng.choice(len(source), min(PAIRS, len(source)), replace=False) if len(source) else np.zeros(0, np.int64)
    return source[chosen].astype(np.int64), target[chosen].astype(np.int64)


def _non_edges(adjacency: scipy.sparse.csr_array, rng: np.random.Generator) -> tuple[Nodes, Nodes]:
    n = adjacency.shape[0]
    if n <= 1000:  # few enough to list all
        source, target = np.nonzero(np.triu(adjacency.toarray() == 0, 1))
        chosen = rng.permutation(len(source))[:PAIRS]
        return source[chosen], target[chosen]
    pairs = np.zeros((2, 0), dtype=np.int64)
    for _ in range(20):  # one round is enough unless the graph is almost complete
        source, target = rng.integers(0, n, (2, PAIRS))
        free = (source != target) & (np.asarray(adjacency[source, target]).ravel() == 0)
        pairs = np.concatenate([pairs, np.stack([source, target])[:, free]], axis=1)[:, :PAIRS]
    return pairs[0], pairs[1]


def _hop_rates(
    cosine: CosineSimilarity, adjacency: scipy.sparse.csr_array, queries: Nodes, seed: int
) -> tuple[float, float]:
    nearest, _ = cosine.nearest(queries, NEAREST, torch.Generator().manual_seed(seed))
    counts = np.minimum(np.diff(adjacency.indptr)[queries], nearest.shape[1])
    counted = np.arange(nearest.shape[1]) < counts[:, None]
    one, two = (((hops & counted).sum(1) / counts).mean() for hops in _within(adjacency, queries, nearest))
    return float(one), float(two)


def _chance_rates(adjacency: scipy.sparse.csr_array, queries: Nodes, rng: np.random.Generator) -> tuple[float, float]:
    n = adjacency.shape[0]
    one = np.diff(adjacency.indptr)[queries] / (n - 1)
    others = (queries[:, None] + rng.integers(1, n, (len(queries), 3 * NEAREST))) % n  # never the node itself
    return float(one.mean()), float(_within(adjacency, queries, others)[1].mean())


def _within(
    adjacency: scipy.sparse.csr_array, queries: Nodes, others: Nodes
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which of each query's others (q × k) are at most one, and at most two hops away."""
    one, two = np.zeros(others.size, dtype=bool), np.zeros(others.size, dtype=bool)
    left, right = np.repeat(queries, others.shape[1]), others.ravel()
    for start in range(0, others.size, 256):  # a node may have a hundred thousand neighbours: few rows at a time
        part = slice(start, start + 256)
        one[part] = np.asarray(adjacency[left[part], right[part]]).ravel() > 0
        two[part] = one[part] | (adjacency[left[part]].multiply(adjacency[right[part]]).sum(axis=1) > 0)
    return one.reshape(others.shape), two.reshape(others.shape)
