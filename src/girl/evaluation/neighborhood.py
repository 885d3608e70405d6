"""How far a representation has the graph in it: are neighbours near?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse
import scipy.stats
import torch
from numpy.typing import NDArray
from torch import Tensor

from girl.evaluation.design_matrix import sample
from girl.graph.adjacency import build_adjacency
from girl.kernel.sparse import to_scipy

RAW, BAG, UNTRAINED, GIRL = "raw features", "bag of nodes", "untrained encoder", "GIRL"

#: Edges, and pairs that are none, whose similarity is compared: the AUC is then known to about ± 0.01.
PAIRS = 5000

#: Nearest nodes that are looked at, and the comparisons (queries × nodes) that finding them may take.
NEAREST = 10
COMPARISONS = 200_000_000
QUERIES = (100, 1000)


@dataclass(frozen=True)
class Likeness:
    """How far a representation has the graph in it; None where there is nothing to compare."""

    name: str
    links: float | None
    """AUC: the chance that the ends of an edge are more similar than a pair of nodes without one."""
    one_hop: float | None
    """Of a node's nearest (as many as it has neighbours, at most ten), the share that are its neighbours."""
    two_hops: float | None
    """The share that are its neighbours or theirs."""


def neighbourhoods(edge_index: Tensor | NDArray[np.integer], nodes: int) -> scipy.sparse.csr_array:
    """The adjacency matrix of the undirected graph, n × n of ones, as a scipy array."""
    return scipy.sparse.csr_array(to_scipy(build_adjacency(torch.as_tensor(edge_index), nodes)))


class Cosines:
    """Similarities of rows, dense or CSR: cosines after the mean row is taken off; a row that is the mean has none.

    Neither shift, scale nor rotation of a representation changes them, so that representations can be compared.
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
        self._across, self._square = self._rows @ mean, float(mean @ mean)
        squares = np.asarray(self._rows.multiply(self._rows).sum(axis=1)).ravel()
        spread = squares - 2 * self._across + self._square
        self._lengths = np.where(spread > 1e-12 * squares.max(initial=0), np.sqrt(np.maximum(spread, 0)), np.inf)

    def pairs(self, one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.float64]:
        """Of nodes one by one."""
        if self._h is not None:
            product = (self._unit(one) * self._unit(other)).sum(1)
            return product.double().numpy()
        dots = np.asarray(self._rows[one].multiply(self._rows[other]).sum(axis=1)).ravel()
        centred = dots - self._across[one] - self._across[other] + self._square
        return centred / self._lengths[one] / self._lengths[other]

    def block(self, one: NDArray[np.int64], other: NDArray[np.int64]) -> Tensor:
        """Of each node with each."""
        if self._h is not None:
            return self._unit(one) @ self._unit(other).T
        dots = (self._rows[one] @ self._rows[other].T).toarray()
        centred = dots - self._across[one][:, None] - self._across[other] + self._square
        return torch.from_numpy(centred / self._lengths[one][:, None] / self._lengths[other])

    def nearest(
        self, nodes: NDArray[np.int64], count: int, generator: torch.Generator | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The most similar others of each node, the nearest first, and their similarities: q × count, both.

        Args:
            nodes: whose (q).
            count: how many, at most n - 1.
            generator: breaks ties by lot, so that rows which are all alike have no nearest by their order.
        """
        count = min(count, self._n - 1)
        best = torch.zeros(len(nodes), 0)
        who = torch.zeros(len(nodes), 0, dtype=torch.int64)
        for start in range(0, self._n, 8192):
            others = np.arange(start, min(start + 8192, self._n))
            found = self.block(nodes, others).float()
            if generator is not None:
                found += 1e-6 * torch.rand(found.shape, generator=generator)
            here = np.flatnonzero((nodes >= start) & (nodes <= others[-1]))
            found[here, nodes[here] - start] = -torch.inf  # nobody is their own neighbour
            near, at = found.topk(min(count, len(others)), dim=1)
            best, order = torch.cat([best, near], 1).topk(min(count, best.shape[1] + near.shape[1]), dim=1)
            who = torch.cat([who, start + at], 1).gather(1, order)
        return who.numpy(), best.double().numpy()

    def _unit(self, nodes: NDArray[np.int64]) -> Tensor:
        assert self._h is not None
        rows = self._h[torch.from_numpy(nodes)] - self._mean
        lengths = rows.norm(dim=1, keepdim=True)
        # What rounding leaves of a row that is the mean points nowhere.
        return torch.where(lengths > 1e-6 * self._mean.norm(), rows / lengths.clamp(min=1e-30), 0.0)


def likenesses(
    known: Mapping[str, Tensor], joined: scipy.sparse.csr_array, seed: int = 0
) -> tuple[list[Likeness], Likeness]:
    """How far each representation has the graph in it, and what chance gives.

    All are held against the same pairs and the same nodes.
    """
    rng = np.random.default_rng(seed)
    edges, others = _edges(joined, rng), _non_edges(joined, rng)
    degree = np.diff(joined.indptr)
    least, most = QUERIES
    queries = np.flatnonzero(degree)
    queries = queries[sample(len(queries), min(max(COMPARISONS // max(len(degree), 1), least), most), seed).numpy()]
    found = []
    for name, h in known.items():
        cosines = Cosines(h)
        links = auc(cosines.pairs(*edges), cosines.pairs(*others)) if len(edges[0]) and len(others[0]) else None
        hops = _preserved(cosines, joined, queries, seed)
        found.append(Likeness(name, links, *hops))
    any_pairs = bool(len(edges[0]) and len(others[0]))
    return found, Likeness("chance", 0.5 if any_pairs else None, *_by_chance(joined, queries, rng))


def auc(high: NDArray[np.float64], low: NDArray[np.float64]) -> float:
    """The chance that one of ``high`` is larger than one of ``low``; a tie counts half."""
    ranks = scipy.stats.rankdata(np.concatenate([high, low]))
    n, m = len(high), len(low)
    return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * m))


def _edges(joined: scipy.sparse.csr_array, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    one, other = scipy.sparse.triu(joined, 1).nonzero()
    at = rng.choice(len(one), min(PAIRS, len(one)), replace=False) if len(one) else np.zeros(0, dtype=np.int64)
    return one[at].astype(np.int64), other[at].astype(np.int64)


def _non_edges(joined: scipy.sparse.csr_array, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    n = joined.shape[0]
    if n <= 1000:  # few enough to list
        one, other = np.nonzero(np.triu(joined.toarray() == 0, 1))
        at = rng.permutation(len(one))[:PAIRS]
        return one[at], other[at]
    found = np.zeros((2, 0), dtype=np.int64)
    for _ in range(20):  # one round is enough but for graphs where nearly all are joined to all
        one, other = rng.integers(0, n, (2, PAIRS))
        free = (one != other) & (np.asarray(joined[one, other]).ravel() == 0)
        found = np.concatenate([found, np.stack([one, other])[:, free]], axis=1)[:, :PAIRS]
    return found[0], found[1]


def _preserved(
    cosines: Cosines, joined: scipy.sparse.csr_array, queries: NDArray[np.int64], seed: int
) -> tuple[float | None, float | None]:
    if not len(queries):
        return None, None
    nearest, _ = cosines.nearest(queries, NEAREST, torch.Generator().manual_seed(seed))
    asked = np.minimum(np.diff(joined.indptr)[queries], nearest.shape[1])
    taken = np.arange(nearest.shape[1]) < asked[:, None]
    near = _within(joined, queries, nearest)
    one, two = (((hops & taken).sum(1) / asked).mean() for hops in near)
    return float(one), float(two)


def _by_chance(
    joined: scipy.sparse.csr_array, queries: NDArray[np.int64], rng: np.random.Generator
) -> tuple[float | None, float | None]:
    if not len(queries):
        return None, None
    n = joined.shape[0]
    one = np.diff(joined.indptr)[queries] / (n - 1)
    drawn = (queries[:, None] + rng.integers(1, n, (len(queries), 3 * NEAREST))) % n  # never the node itself
    return float(one.mean()), float(_within(joined, queries, drawn)[1].mean())


def _within(
    joined: scipy.sparse.csr_array, nodes: NDArray[np.int64], others: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which of each node's others (q × k) are at most one, and at most two hops away."""
    one, two = np.zeros(others.size, dtype=bool), np.zeros(others.size, dtype=bool)
    left, right = np.repeat(nodes, others.shape[1]), others.ravel()
    for start in range(0, others.size, 256):  # a node may have a hundred thousand neighbours: few rows at a time
        part = slice(start, start + 256)
        one[part] = np.asarray(joined[left[part], right[part]]).ravel() > 0
        two[part] = one[part] | (joined[left[part]].multiply(joined[right[part]]).sum(axis=1) > 0)
    return one.reshape(others.shape), two.reshape(others.shape)
