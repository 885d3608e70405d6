"""Random graphs with classes, skewed degrees and homophily, at the size of the large datasets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

#: The weight of the r-th node of a class falls as r^-0.4: degrees follow a power law with exponent 1 + 1/0.4 = 3.5,
#: and the largest of 2.4 million nodes with 124 million edge ends has about 20,000, as in ogbn-products.
SKEW = 0.4

#: At most this fraction of all pairs of nodes are edges; only scaled-down dense graphs come near.
MAX_DENSITY = 0.25

_CHUNK = 1 << 22
_ROWS = 1 << 14


@dataclass(frozen=True)
class RandomGraph:
    """Nodes in classes, with more edges within classes than between them."""

    labels: Ints
    """n."""
    pairs: Ints
    """2 × m: distinct, the smaller end first, in order; without self-loops."""


def random_graph(nodes: int, pairs: int, classes: int, rng: np.random.Generator, homophily: float = 0.7) -> RandomGraph:
    """A graph of ``nodes`` in ``classes`` with exactly ``pairs`` undirected edges, or :data:`MAX_DENSITY` of all.

    Takes 16 bytes for each pair at its peak, besides the result.
    """
    sizes = _class_sizes(nodes, classes)
    class_of = np.repeat(np.arange(classes), sizes)  # nodes ordered by class, and within it by weight
    node_id = rng.permutation(nodes)  # of each of them in the graph
    labels = np.empty(nodes, dtype=np.int64)
    labels[node_id] = class_of
    pairs = min(pairs, int(MAX_DENSITY * nodes * (nodes - 1) / 2))
    starts = np.cumsum(sizes) - sizes
    skew = SKEW
    keys = np.empty(0, dtype=np.int64)
    while len(keys) < pairs:
        # Repeated pairs are dropped, so a few more are drawn; where classes or hubs are full, the rest goes elsewhere.
        missing = int((pairs - len(keys)) * 1.02) + 16
        blocks = [keys]
        for start in range(0, missing, _CHUNK):
            count = min(_CHUNK, missing - start)
            one = class_of[rng.integers(nodes, size=count)]
            other = np.where(rng.random(count) < homophily, one, class_of[rng.integers(nodes, size=count)])
            a, b = (node_id[starts[c] + _ranks(sizes[c], skew, rng)] for c in (one, other))
            low, high = np.minimum(a, b), np.maximum(a, b)
            blocks.append((low * nodes + high)[low != high])
        keys = np.concatenate(blocks)
        del blocks
        keys.sort()
        keys = keys[np.concatenate(([True], keys[1:] != keys[:-1]))]
        homophily, skew = homophily / 2, skew / 2
    if len(keys) > pairs:
        keys = np.delete(keys, rng.choice(len(keys), len(keys) - pairs, replace=False))
    ends = np.empty((2, len(keys)), dtype=np.int64)
    np.floor_divide(keys, nodes, out=ends[0])
    np.remainder(keys, nodes, out=ends[1])
    return RandomGraph(labels, ends)


def feature_blocks(labels: Ints, width: int, classes: int, rng: np.random.Generator) -> Iterator[NDArray[np.float32]]:
    """Rows of features, a block at a time: the mean of the class, and three times as much noise."""
    means = rng.standard_normal((classes, width), dtype=np.float32) * np.float32(1 / 3)
    for start in range(0, len(labels), _ROWS):
        part = labels[start : start + _ROWS]
        yield means[part] + rng.standard_normal((len(part), width), dtype=np.float32)


def features(labels: Ints, width: int, classes: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """All rows of :func:`feature_blocks` at once; n × width."""
    x = np.empty((len(labels), width), dtype=np.float32)
    start = 0
    for block in feature_blocks(labels, width, classes, rng):
        x[start : start + len(block)] = block
        start += len(block)
    return x


def random_split(nodes: int, sizes: tuple[int, int, int], rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Training, validation and test nodes in proportion to ``sizes``, each sorted."""
    order = rng.permutation(nodes)
    first = max(1, round(nodes * sizes[0] / sum(sizes)))
    second = first + max(1, round(nodes * sizes[1] / sum(sizes)))
    return np.sort(order[:first]), np.sort(order[first:second]), np.sort(order[second:])


def _class_sizes(nodes: int, classes: int) -> Ints:
    """From the largest to the smallest class, falling as one over the square root; none is empty."""
    weight = 1 / np.sqrt(np.arange(1, classes + 1))
    sizes = np.maximum(1, (nodes * weight / weight.sum()).astype(np.int64))
    sizes[0] += nodes - sizes.sum()
    return sizes


def _ranks(sizes: Ints, skew: float, rng: np.random.Generator) -> Ints:
    """Ranks below ``sizes`` with weight r^-skew, by inverting the distribution function: no table, no search."""
    return np.minimum((sizes * rng.random(len(sizes)) ** (1 / (1 - skew))).astype(np.int64), sizes - 1)
