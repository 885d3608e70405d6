r"""How good an embedding is, for a person who has one graph and one embedding of it.

Each number stands beside what it would be for nothing: chance, the raw features and the untrained encoder. Without
labels an embedding is held against the graph; with labels, a linear classifier reads them off. Costs are linear in the
nodes: pairs, queries and rows are drawn by a seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import scipy.sparse
import scipy.stats
import torch
from numpy.typing import NDArray
from torch import Tensor

from girl.errors import InputError
from girl.evaluate.design import Design, take, to_scipy
from girl.evaluate.logistic import logistic_path
from girl.evaluate.metric import accuracy, summarise
from girl.evaluate.probe import STRENGTHS, choose
from girl.evaluate.split import Split

RAW, UNTRAINED, GIRL = "raw features", "untrained encoder", "GIRL"

#: Edges, and pairs that are none, whose similarity is compared: the AUC is then known to about ± 0.01.
PAIRS = 5000

#: Nearest nodes that are looked at, and the comparisons (queries × nodes) that finding them may take.
NEAREST = 10
COMPARISONS = 200_000_000
QUERIES = (100, 1000)

#: Rows that the spectrum is estimated from: several for each column of a wide embedding.
SPECTRUM = 4096

#: Labelled nodes that a classifier is fitted to and scored on, and how often they are shared out anew.
LABELLED = 2000
SPLITS = 10

#: Whole decades of the probe's strengths, without the weakest penalties: those cost most and are hardly ever best.
PENALTIES = STRENGTHS[:11:2]

#: Smaller classes cannot be trained, validated and tested; more classes than this are no classes but numbers.
LEAST, MOST = 5, 100

#: Below this effective rank the rows lie on a line, nearly.
LINE = 1.5


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


@dataclass(frozen=True)
class Interval:
    """A mean and its 95 % confidence interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Probed:
    """What a linear classifier reads off representations of the same nodes."""

    accuracy: dict[str, Interval]
    """By representation."""
    gain: dict[str, Interval]
    """By control: how much better GIRL is, split by split."""
    frequent: float
    """The accuracy of always saying the most frequent class."""
    classes: list[str]
    confusion: list[list[int]]
    """Test nodes of all splits, by class (rows) and by what was read off the embedding (columns)."""
    nodes: int
    splits: int
    rare: int
    """Classes left out because they have too few nodes."""


@dataclass(frozen=True)
class Quality:
    """All that is said about one embedding."""

    width: int
    """Its columns."""
    effective_rank: float
    """How many directions it uses; see :func:`effective_rank`."""
    constant: int
    """Columns that are the same for all nodes."""
    repeated: float
    """The share of nodes whose row another node has too."""
    likeness: list[Likeness]
    """Controls first, the embedding last."""
    chance: Likeness
    probed: Probed | None
    unprobed: str
    """Why nothing was probed, if nothing was."""
    collapsed: bool
    """Whether rows are all but the same or on a line: of no use."""
    warnings: list[str]


def measure(
    embedding: Tensor | NDArray[np.floating],
    edge_index: Tensor | NDArray[np.integer],
    *,
    features: Tensor | None = None,
    untrained: Tensor | None = None,
    labels: pl.Series | Sequence[object] | None = None,
    seed: int = 0,
) -> Quality:
    """Measure an embedding beside its controls.

    Args:
        embedding: n × k.
        edge_index: 2 × m; directions, loops and repetitions do not count.
        features: what the encoder was given, n × d, dense or CSR.
        untrained: the embedding before training, n × k.
        labels: a class for each node, None where it is unknown.
        seed: of every draw.
    """
    if isinstance(embedding, np.ndarray):
        embedding = torch.from_numpy(np.require(embedding, np.float32, "W"))  # torch shares writable memory only
    h = embedding.detach().cpu().float()
    if h.dim() != 2 or not h.numel():
        raise InputError(f"embedding: given shape {tuple(h.shape)}, expected a row for each node and some columns")
    if not bool(torch.isfinite(h).all()):
        raise InputError("embedding: given NaN or infinite entries, expected finite numbers: the encoder has diverged")
    every = {RAW: features, UNTRAINED: untrained, GIRL: h}
    known = {name: _plain(one, len(h), name) for name, one in every.items() if one is not None}
    likeness, chance = likenesses(known, neighbourhoods(edge_index, len(h)), seed)
    probed, unprobed = probe_all(known, labels, seed)
    rank, constant, repeated = effective_rank(h, seed), constant_columns(h), repeated_rows(h)
    collapsed, warnings = _judge(len(h), h.shape[1], rank, constant, repeated)
    return Quality(
        h.shape[1], rank, constant, repeated, likeness, chance, probed, unprobed, collapsed=collapsed, warnings=warnings
    )


def _plain(h: Tensor, nodes: int, name: str) -> Tensor:
    if h.dim() != 2 or len(h) != nodes:
        raise InputError(f"{name}: given shape {tuple(h.shape)}, expected {nodes:,} rows, as many as the embedding has")
    return h.detach().cpu().float()


# The spectrum: does the embedding use its columns?


def effective_rank(h: Tensor, seed: int = 0) -> float:
    r""":math:`\exp(-\sum_i p_i \log p_i)`, p: the shares of the covariance's eigenvalues (Roy and Vetterli 2007).

    Between 1 (all rows on a line) and the width (the same spread in every direction); 0 if all rows are the same.
    """
    rows = SPECTRUM if h.shape[1] <= SPECTRUM // 2 else SPECTRUM // 2  # the cube of the shorter side is the cost
    h = take(h)(_sample(len(h), rows, seed))
    if not _varied(h).any():
        return 0.0
    spread = torch.linalg.eigvalsh(Design(h).gram()).clamp(min=0)
    share = spread[spread > 1e-12 * spread[-1]] / spread.sum()
    return math.exp(-float((share * share.log()).sum()))


def constant_columns(h: Tensor) -> int:
    """How many columns are the same in all rows."""
    return int((~_varied(h)).sum())


def repeated_rows(h: Tensor) -> float:
    """The share of rows that another row equals."""
    # Equal rows have equal products with random vectors. Three of them, each in a million steps, keep a million
    # different rows apart, and the steps are wider than what the order of a sum may change.
    vectors = torch.randn(h.shape[1], 3, generator=torch.Generator().manual_seed(0))
    products = (h @ vectors).double()
    size = products.abs().amax(0)
    products -= products.mean(0)
    steps = (products / torch.maximum(products.abs().amax(0), 1e-5 * size).clamp(min=1e-30) * (1 << 19)).round().long()
    key = (steps[:, 0] << 40) + (steps[:, 1] << 20) + steps[:, 2]
    _, which, counts = torch.unique(key, return_inverse=True, return_counts=True)
    return float((counts[which] > 1).double().mean())


def _varied(h: Tensor) -> Tensor:
    low, high = h.aminmax(dim=0)
    size = torch.maximum(low.abs(), high.abs()).max()
    return high - low > 1e-6 * size


def _judge(nodes: int, width: int, rank: float, constant: int, repeated: float) -> tuple[bool, list[str]]:
    """Whether the embedding collapsed, and what a person should know."""
    if nodes < 3:
        return False, ["With fewer than three nodes none of these numbers means much."]
    found = []
    if rank == 0:
        found.append("All rows are the same: the embedding says nothing about any node.")
    elif width > 1 and rank < LINE:
        found.append(
            f"The rows lie on a line, nearly: of {width} columns they use about one direction (effective rank "
            f"{rank:.1f}). Train longer or with a smaller learning rate, and look for one column of extreme values."
        )
    if repeated > 0.5 and rank:
        found.append(
            f"{_percent(repeated)} of the nodes share their row with another node: neither their columns nor their "
            "surroundings tell them apart."
        )
    collapsed = bool(found)
    if 0.01 < repeated <= 0.5:
        found.append(
            f"{_percent(repeated)} of the nodes share their row with another node. Nodes with the same columns and the "
            "same surroundings do; that is no fault, but they cannot be told apart."
        )
    if rank and constant:
        found.append(f"{constant} of {width} columns are the same for all nodes; they can be dropped.")
    return collapsed, found


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


# The graph: are neighbours near?


def neighbourhoods(edge_index: Tensor | NDArray[np.integer], nodes: int) -> scipy.sparse.csr_array:
    """Who is joined to whom, n × n of ones: both directions, once, without loops; each row sorted."""
    source, target = np.asarray(edge_index, dtype=np.int64).reshape(2, -1)
    if source.size and (min(source.min(), target.min()) < 0 or max(source.max(), target.max()) >= nodes):
        raise InputError(f"edge_index: given nodes beyond the embedding's rows, expected 0 to {nodes - 1}")
    apart = source != target
    source, target = source[apart], target[apart]
    both = np.concatenate([source, target]), np.concatenate([target, source])
    joined = scipy.sparse.csr_array((np.ones(len(both[0]), dtype=np.int32), both), shape=(nodes, nodes))
    joined.sum_duplicates()
    joined.data[:] = 1
    return joined


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
    queries = queries[_sample(len(queries), min(max(COMPARISONS // max(len(degree), 1), least), most), seed).numpy()]
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


# The labels: can they be read off?


def classes_of(labels: pl.Series | Sequence[object]) -> tuple[NDArray[np.int64], list[str]]:
    """Labels as numbers in the order of their values, -1 where unknown, and their names.

    Raises:
        InputError: they are no classes.
    """
    series = labels if isinstance(labels, pl.Series) else pl.Series(labels, strict=False)
    if series.dtype.is_nested() or series.dtype == pl.Object:
        raise InputError("the label holds lists or records, not one class for each node")
    if series.dtype.is_float():
        series = series.fill_nan(None)
        whole = series.drop_nulls()
        if bool((whole == whole.round()).all()) and bool((whole.abs() < 2**53).all()):
            series = series.cast(pl.Int64)
    values = series.drop_nulls().unique().sort()
    if len(values) > MOST:
        raise InputError(f"the label has {len(values):,} different values, too many for classes")
    names = values.cast(pl.String).to_list()
    codes = series.cast(pl.String).replace_strict(names, range(len(names)), default=-1, return_dtype=pl.Int64)
    return codes.fill_null(-1).to_numpy().copy(), names


def probe_all(
    known: Mapping[str, Tensor], labels: pl.Series | Sequence[object] | None, seed: int = 0
) -> tuple[Probed | None, str]:
    """Read labels off each representation with a linear classifier, on the same splits; or say why that cannot be."""
    if labels is None:
        return None, "No column was named as the label."
    try:
        codes, names = classes_of(labels)
    except InputError as error:
        return None, f"Nothing was classified: {error}."
    nodes = np.flatnonzero(codes >= 0)
    nodes = nodes[_sample(len(nodes), LABELLED, seed).numpy()]
    counts = np.bincount(codes[nodes], minlength=len(names))
    kept = np.flatnonzero(counts >= LEAST)
    if len(kept) < 2:
        return None, (
            f"Nothing was classified: it takes two classes of at least {LEAST} known nodes each, and there "
            f"{'is one' if len(kept) else 'is none'}."
        )
    nodes = nodes[np.isin(codes[nodes], kept)]
    y = torch.from_numpy(np.searchsorted(kept, codes[nodes]))
    rows = {name: take(h)(torch.from_numpy(nodes)) for name, h in known.items()}
    scores: dict[str, list[float]] = {name: [] for name in rows}
    confusion = np.zeros((len(kept), len(kept)), dtype=np.int64)
    for split in _shares(y, seed):
        for name, h in rows.items():
            guessed = _read(h, y, split)
            scores[name].append(accuracy(guessed, y[split.test]))
            if name == GIRL:
                np.add.at(confusion, (y[split.test].numpy(), guessed.numpy()), 1)
    ratio = len(split.test) / len(split.train)
    return Probed(
        {name: interval(found, ratio, 0, 1) for name, found in scores.items()},
        {
            name: interval([ours - theirs for ours, theirs in zip(scores[GIRL], found, strict=True)], ratio, -1, 1)
            for name, found in scores.items()
            if name != GIRL
        },
        float(counts[kept].max() / len(nodes)),
        [names[at] for at in kept],
        confusion.tolist(),
        len(nodes),
        SPLITS,
        int((np.bincount(codes[codes >= 0], minlength=len(names)) > 0).sum()) - len(kept),
    ), ""


def interval(scores: Sequence[float], ratio: float, least: float, most: float) -> Interval:
    r"""The mean of scores on random splits of the same nodes, and its 95 % confidence interval.

    Splits share nodes, so their scores vary less than those of fresh nodes would: the variance of the mean is
    :math:`(1/J + n_{test}/n_{train})s^2` (Nadeau and Bengio 2003), not :math:`s^2/J`.

    Args:
        scores: one for each of J splits.
        ratio: test nodes for each training node.
        least: the lowest value possible.
        most: the highest.
    """
    found = summarise(scores)
    if found.std is None:
        return Interval(found.mean, least, most)
    half = float(scipy.stats.t.ppf(0.975, found.count - 1)) * found.std * math.sqrt(1 / found.count + ratio)
    return Interval(found.mean, max(found.mean - half, least), min(found.mean + half, most))


def _shares(y: Tensor, seed: int) -> Iterator[Split]:
    """Splits of 60, 20 and 20 percent of each class, so that the rarest too is trained and tested."""
    for index in range(SPLITS):
        rng = np.random.default_rng([seed, index])
        parts: list[list[NDArray[np.int64]]] = [[], [], []]
        for which in range(int(y.max()) + 1):
            members = rng.permutation(np.flatnonzero(y.numpy() == which))
            cuts = [round(0.6 * len(members)), round(0.8 * len(members))]
            for part, some in zip(parts, np.split(members, cuts), strict=True):
                part.append(some)
        train, val, test = (torch.from_numpy(np.sort(np.concatenate(part))) for part in parts)
        yield Split(train, val, test)


def _read(h: Tensor, y: Tensor, split: Split) -> Tensor:
    """Classes of the test nodes, read by the probe whose strength is best on validation."""
    rows = take(h)
    models = list(logistic_path(rows(split.train), y[split.train], PENALTIES))
    val = rows(split.val)
    best = choose([accuracy(model(val).argmax(1), y[split.val]) for model in models])
    return models[best](rows(split.test)).argmax(1)


def _sample(nodes: int, most: int, seed: int) -> Tensor:
    """At most ``most`` of the nodes, sorted."""
    if nodes <= most:
        return torch.arange(nodes)
    return torch.from_numpy(np.sort(np.random.default_rng(seed).choice(nodes, most, replace=False)))
