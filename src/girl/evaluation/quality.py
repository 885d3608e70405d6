r"""How good an embedding is, for a person who has one graph, or one set of graphs, and one embedding of it.

Each number stands beside its baselines: chance, the raw features and the untrained encoder. Without labels, an
embedding is compared with the graph (:mod:`girl.evaluation.neighborhood`). With labels, a linear classifier is fitted
to it (:mod:`girl.evaluation.label_probe`). The graphs of a set have no edges between them, so only labels apply.
Costs are linear in the nodes: pairs, queries and rows are sampled with a seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from girl.errors import InputError
from girl.evaluation.design_matrix import Design, sample, take
from girl.evaluation.label_probe import Probed, Unit, probe_all
from girl.evaluation.neighborhood import BAG, GIRL, RAW, UNTRAINED, Likeness, likenesses, neighbourhoods

#: Rows that the spectrum is estimated from: several for each column of a wide embedding.
SPECTRUM = 4096

#: Below this effective rank the rows lie on a line, nearly.
LINE = 1.5


@dataclass(frozen=True)
class Quality:
    """All that is said about one embedding."""

    width: int
    """Its columns."""
    effective_rank: float
    """How many directions it uses; see :func:`effective_rank`."""
    constant: int
    """Columns that are the same in all rows."""
    repeated: float
    """The share of rows that another row equals."""
    likeness: list[Likeness]
    """Controls first, the embedding last; none for a set of graphs."""
    chance: Likeness
    probed: Probed | None
    unprobed: str
    """Why nothing was probed, if nothing was."""
    collapsed: bool
    """Whether rows are all but the same or on a line: of no use."""
    warnings: list[str]
    unit: Unit = "node"
    """What a row represents."""


def measure(
    embedding: Tensor | NDArray[np.floating],
    edge_index: Tensor | NDArray[np.integer] | None,
    *,
    features: Tensor | None = None,
    untrained: Tensor | None = None,
    labels: pl.Series | Sequence[object] | None = None,
    seed: int = 0,
) -> Quality:
    """Measure an embedding beside its controls.

    Args:
        embedding: n × k.
        edge_index: 2 × m; directions, loops and repetitions do not count. None: the rows are graphs of a set.
        features: what the encoder was given, n × d, dense or CSR; of graphs, summed over their nodes.
        untrained: the embedding before training, n × k.
        labels: a class for each row, None where it is unknown.
        seed: of every draw.
    """
    if isinstance(embedding, np.ndarray):
        embedding = torch.from_numpy(np.require(embedding, np.float32, "W"))  # torch shares writable memory only
    h = embedding.detach().cpu().float()
    unit: Unit = "graph" if edge_index is None else "node"
    if h.dim() != 2 or not h.numel():
        raise InputError(f"embedding: given shape {tuple(h.shape)}, expected a row for each {unit} and some columns")
    if not bool(torch.isfinite(h).all()):
        raise InputError("embedding: given NaN or infinite entries, expected finite numbers: the encoder has diverged")
    every = {RAW if unit == "node" else BAG: features, UNTRAINED: untrained, GIRL: h}
    known = {name: _plain(one, len(h), name) for name, one in every.items() if one is not None}
    likeness: list[Likeness] = []
    chance = Likeness("chance", None, None, None)
    if edge_index is not None:
        likeness, chance = likenesses(known, neighbourhoods(edge_index, len(h)), seed)
    probed, unprobed = probe_all(known, labels, seed, unit)
    rank, constant, repeated = effective_rank(h, seed), constant_columns(h), repeated_rows(h)
    collapsed, warnings = _judge(len(h), h.shape[1], rank, constant, repeated, unit)
    return Quality(
        h.shape[1],
        rank,
        constant,
        repeated,
        likeness,
        chance,
        probed,
        unprobed,
        collapsed=collapsed,
        warnings=warnings,
        unit=unit,
    )


def _plain(h: Tensor, nodes: int, name: str) -> Tensor:
    if h.dim() != 2 or len(h) != nodes:
        raise InputError(f"{name}: given shape {tuple(h.shape)}, expected {nodes:,} rows, as many as the embedding has")
    return h.detach().cpu().float()


def effective_rank(h: Tensor, seed: int = 0) -> float:
    r""":math:`\exp(-\sum_i p_i \log p_i)`, p: the shares of the covariance's eigenvalues (Roy and Vetterli 2007).

    Between 1 (all rows on a line) and the width (the same spread in every direction); 0 if all rows are the same.
    """
    rows = SPECTRUM if h.shape[1] <= SPECTRUM // 2 else SPECTRUM // 2  # the cube of the shorter side is the cost
    h = take(h)(sample(len(h), rows, seed))
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


def _judge(rows: int, width: int, rank: float, constant: int, repeated: float, unit: Unit) -> tuple[bool, list[str]]:
    """Whether the embedding collapsed, and what a person should know."""
    if rows < 3:
        return False, [f"With fewer than three {unit}s none of these numbers means much."]
    found = []
    if rank == 0:
        found.append(f"All rows are the same: the embedding says nothing about any {unit}.")
    elif width > 1 and rank < LINE:
        found.append(
            f"The rows lie on a line, nearly: of {width} columns they use about one direction (effective rank "
            f"{rank:.1f}). Train longer or with a smaller learning rate, and look for one column of extreme values."
        )
    own = "surroundings" if unit == "node" else "shapes"
    if repeated > 0.5 and rank:
        found.append(
            f"{_percent(repeated)} of the {unit}s share their row with another {unit}: neither their columns nor their "
            f"{own} tell them apart."
        )
    collapsed = bool(found)
    if 0.01 < repeated <= 0.5:
        found.append(
            f"{_percent(repeated)} of the {unit}s share their row with another {unit}. {unit.title()}s with the same "
            f"columns and the same {own} do; that is no fault, but they cannot be told apart."
        )
    if rank and constant:
        are, they = ("is", "it") if constant == 1 else ("are", "they")
        found.append(f"{constant} of {width} columns {are} the same for all {unit}s; {they} can be dropped.")
    return collapsed, found


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
