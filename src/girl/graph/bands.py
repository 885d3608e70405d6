r"""Bands: views of a graph from which a representation is put together. All but one need no training.

Let z (n × r) be the features, S the matrix of a GCN and M the mean over neighbours. On a graph whose neighbours are
alike, smoothed features (``near``, ``mid``, ``far``) are best; where they are not, a node's ``own``; where features say
little, ``positions`` and ``roles``. Which of them count, and how much, is chosen for each graph: see
:mod:`girl.methods.bands`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import torch
from torch import Tensor

from girl.graph.graph import Graph
from girl.graph.positions import POSITIONS, positions
from girl.graph.propagate import propagate
from girl.graph.structure import roles

#: Every band, and what it tells of a node.
BANDS: dict[str, str] = {
    "own": "its own features",
    "size": "how large its features are in sum",
    "near": "features of the nearest nodes",
    "mid": "features of nodes a few steps away",
    "far": "features of the wider region",
    "mean": "the mean of its neighbours' features",
    "contrast": "how it differs from its neighbours",
    "distribution": "how its neighbours' features are distributed",
    "positions": "where it is in the graph",
    "roles": "what its place looks like: degrees, returning walks",
    "learned": "what its features share with those around it",
}
#: Bands that are computed from features.
FROM_FEATURES = tuple(name for name in BANDS if name not in ("positions", "roles"))
#: The learned band (:mod:`girl.graph.learned`), and the one that differs from it only by not being learned.
LEARNED, UNLEARNED = "learned", "mid"
#: The scale of each band before the judge has seen the graph: smoothed features and positions count most.
PRIOR = {
    "own": 0.7,
    "size": 0.1,
    "near": 1.0,
    "mid": 1.0,
    "far": 0.5,
    "mean": 0.35,
    "contrast": 0.5,
    "distribution": 0.2,
    "positions": 0.7,
    "roles": 0.25,
    "learned": 1.0,
}

#: Teleport probabilities of the low-pass bands, which are personalised PageRank, and the steps that all of them share.
TELEPORTS = {"near": 0.5, "mid": 0.1, "far": 0.03}
STEPS = 16
#: Frequencies of the kernel features whose means describe a distribution; each gives a cosine and a sine.
FREQUENCIES = 64
#: Centres of the bumps that describe a size, in standard deviations of its logarithm, and their width.
SIZE_CENTERS = (-2.5, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
SIZE_WIDTH = 0.5
#: Roles of a node, and of how many steps around it.
ROLE_STEPS = 2
#: Components of roles whose variance is below this fraction of the largest are noise.
SMALLEST = 1e-3


def iter_bands(
    z: Tensor,
    learned: Tensor,
    log_size: Tensor,
    frequencies: Tensor,
    graph: Graph,
    names: Collection[str],
    num_positions: int,
) -> Iterator[tuple[str, Tensor]]:
    """The bands called ``names``, one at a time, each n × its width.

    Args:
        z: features, n × r, centred.
        learned: the same in the directions of :func:`girl.graph.learned.shared_directions`, n × r.
        log_size: the logarithm of the size of each node's features (n), standardised.
        frequencies: r × :data:`FREQUENCIES`, of the kernel features.
        graph: the graph.
        names: which bands.
        num_positions: columns of positions.
    """
    single: dict[str, Callable[[], Tensor]] = {
        "own": lambda: z,
        "size": lambda: size_bumps(log_size),
        "mean": lambda: graph.mean @ z,
        "contrast": lambda: z - graph.mean @ z,
        "distribution": lambda: graph.mean @ kernel_features(z, frequencies),
        "positions": lambda: positions(graph, num_positions),
        "roles": lambda: roles_around(graph),
        "learned": lambda: propagate(graph.gcn, learned, TELEPORTS[UNLEARNED], STEPS),
    }
    for name, band in single.items():
        if name in names:
            yield name, band()
    if low := [name for name in TELEPORTS if name in names]:
        yield from low_pass(z, graph, low)


def low_pass(z: Tensor, graph: Graph, names: Collection[str]) -> Iterator[tuple[str, Tensor]]:
    r"""Personalised PageRank of z at several teleport probabilities α, from one series of powers of S.

    .. math:: \sum_{k<K}\alpha(1-\alpha)^kS^kz + (1-\alpha)^KS^Kz .
    """
    sums = {name: TELEPORTS[name] * z for name in names}
    power = z
    for step in range(1, STEPS + 1):
        power = graph.gcn @ power
        for name, total in sums.items():
            alpha = TELEPORTS[name]
            total.add_(power, alpha=(1 - alpha) ** step * (alpha if step < STEPS else 1.0))
    yield from sums.items()


def kernel_features(z: Tensor, frequencies: Tensor) -> Tensor:
    """Random Fourier features of z (n × 2f): their mean over nodes describes how the nodes' features are distributed.

    It is an estimate of the conditional mean embedding of the neighbours' features.
    """
    angles = z @ frequencies
    return torch.cat([angles.cos(), angles.sin()], 1)


def size_bumps(log_size: Tensor) -> Tensor:
    """A size as smooth bumps (n × 11), so that a linear model can use it in any way."""
    centers = torch.tensor(SIZE_CENTERS, device=log_size.device)
    return torch.exp(-((log_size.unsqueeze(1) - centers) / SIZE_WIDTH).square() / 2)


def roles_around(graph: Graph) -> Tensor:
    """Degrees and returning walks of a node, and their means over its neighbours and over theirs (n × 3k)."""
    columns, _ = roles(graph.edge_index, graph.num_nodes, directed=not graph.symmetric)
    steps = [torch.from_numpy(columns).to(graph.device)]
    for _ in range(ROLE_STEPS):
        steps.append(graph.mean @ steps[-1])
    return torch.cat(steps, 1)


def flattening(rows: Tensor) -> Tensor:
    r"""A map (k × k) after which the components of rows (n × k) have the square roots of their standard deviations.

    With the covariance :math:`V\Lambda V^\top` it is :math:`V\Lambda^{-1/4}`. Roles are highly correlated: as they are,
    nearly all of their variance is in one or two directions, which would be the first components of every embedding.
    """
    centered = rows - rows.mean(0)
    values, vectors = torch.linalg.eigh((centered.T @ centered).double() / len(rows))
    weights = torch.where(values > SMALLEST * values[-1].clamp(min=1e-30), values.clamp(min=1e-30).pow(-0.25), 0.0)
    return (vectors * weights).to(rows.dtype)


def band_widths(rank: int, directed: bool) -> dict[str, int]:
    """The number of columns of each band, for features of ``rank`` columns."""
    widths = dict.fromkeys(BANDS, rank)
    num_roles = (9 + 2 * directed) * (1 + ROLE_STEPS)
    return widths | {
        "size": len(SIZE_CENTERS),
        "distribution": 2 * FREQUENCIES,
        "positions": POSITIONS,
        "roles": num_roles,
    }
