r"""The quality of one embedding of a graph's nodes, or of a set of graphs, beside its baselines.

The baselines are chance, the raw features and the untrained encoder. Without labels, an embedding is compared with the
graph (:mod:`girl.evaluation.neighborhood`). With labels, a linear classifier is fitted to it
(:mod:`girl.evaluation.label_probe`). The graphs of a set have no edges between them, so only labels apply.
The cost is linear in the number of nodes: pairs, queries and rows are sampled with a seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from girl.errors import InputError
from girl.evaluation.baselines import bag_of_nodes
from girl.evaluation.design_matrix import DesignMatrix, row_selector, sample
from girl.evaluation.label_probe import Interval, LabelProbe, Unit, probe_labels
from girl.evaluation.neighborhood import (
    BAG,
    GIRL,
    RAW,
    UNTRAINED,
    NeighborhoodScore,
    neighbourhoods,
    score_neighborhoods,
)
from girl.graph.batch import Batch
from girl.training.run import Run
from girl.training.untrained import embed_untrained

#: Rows that the spectrum is estimated from: several for each column of a wide embedding.
SPECTRUM_ROWS = 4096

#: Below this effective rank the rows lie almost on a line.
LINE_RANK = 1.5

#: On larger graphs the untrained encoder is not measured: it would double the time for one number of the report.
MAX_UNTRAINED_NODES = 200_000

Labels = pl.Series | Sequence[object] | None


@dataclass(frozen=True)
class Quality:
    """All measurements of one embedding."""

    width: int
    """Its number of columns."""
    effective_rank: float
    """How many directions it uses; see :func:`effective_rank`."""
    constant_columns: int
    """Columns that are the same in all rows."""
    duplicate_rows: float
    """The fraction of rows that equal another row."""
    neighborhood: list[NeighborhoodScore]
    """Baselines first, the embedding last; empty for a set of graphs."""
    chance: NeighborhoodScore
    label_probe: LabelProbe | None
    no_label_probe: str
    """Why ``label_probe`` is None, if it is."""
    collapsed: bool
    """Whether the embedding is of no use: all rows are almost the same or on a line."""
    warnings: list[str]
    unit: Unit = "node"
    """What a row represents."""

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Quality:
        """The inverse of ``dataclasses.asdict``."""
        probe = values["label_probe"]
        if probe is not None:
            intervals = {
                key: {name: Interval(**interval) for name, interval in probe[key].items()}
                for key in ("accuracy", "gain")
            }
            probe = LabelProbe(**probe | intervals)
        scores = [NeighborhoodScore(**score) for score in values["neighborhood"]]
        chance = NeighborhoodScore(**values["chance"])
        return cls(**values | {"neighborhood": scores, "chance": chance, "label_probe": probe})


def measure_run(
    run: Run, vectors: Tensor | NDArray[Any], data: Data, batch: Batch, labels: Labels = None, seen: Batch | None = None
) -> Quality:
    """Measure the embedding of a run beside the raw features and the untrained encoder.

    Args:
        run: the model.
        vectors: its embedding of the nodes of ``data``, or of the graphs of a set.
        data: the graph, with the features that the encoder was given.
        batch: the same graph as the encoder sees it.
        labels: a class for each row, None where it is missing.
        seen: the part of the graph that training used, if not all of it (inductive data).
    """
    graph_set = batch.graph_id is not None
    has_encoder = bool(batch.x.shape[1])  # an encoder needs features; the default recipe does not
    compared = has_encoder and batch.num_nodes <= MAX_UNTRAINED_NODES
    untrained = embed_untrained(batch, run.recipe, seen) if compared else None
    return measure(
        vectors,
        None if graph_set else data.edge_index,
        features=bag_of_nodes(data) if graph_set and data.x is not None else data.x,
        untrained=untrained,
        labels=labels,
    )


def measure(
    embedding: Tensor | NDArray[np.floating],
    edge_index: Tensor | NDArray[np.integer] | None,
    *,
    features: Tensor | None = None,
    untrained: Tensor | None = None,
    labels: Labels = None,
    seed: int = 0,
) -> Quality:
    """Measure an embedding beside its baselines.

    Args:
        embedding: n × k.
        edge_index: 2 × m; directions, self-loops and duplicates do not matter. None if the rows are graphs of a set.
        features: the encoder's input, n × d, dense or CSR; for graphs, summed over their nodes.
        untrained: the embedding before training, n × k.
        labels: a class for each row, None where it is missing.
        seed: seed of all random samples.
    """
    if isinstance(embedding, np.ndarray):
        embedding = torch.from_numpy(np.require(embedding, np.float32, "W"))  # torch shares writable memory only
    h = embedding.detach().cpu().float()
    unit: Unit = "graph" if edge_index is None else "node"
    if h.dim() != 2 or not h.numel():
        raise InputError(f"embedding: given shape {tuple(h.shape)}, expected a row for each {unit} and some columns")
    if not bool(torch.isfinite(h).all()):
        raise InputError("embedding: given NaN or infinite entries, expected finite numbers: the encoder has diverged")
    candidates = {RAW if unit == "node" else BAG: features, UNTRAINED: untrained, GIRL: h}
    representations = {}
    for name, x in candidates.items():
        if x is None:
            continue
        if x.dim() != 2 or len(x) != len(h):
            raise InputError(f"{name}: given shape {tuple(x.shape)}, expected {len(h):,} rows, as in the embedding")
        representations[name] = x.detach().cpu().float()
    neighborhood: list[NeighborhoodScore] = []
    chance = NeighborhoodScore("chance", None, None, None)
    if edge_index is not None:
        neighborhood, chance = score_neighborhoods(representations, neighbourhoods(edge_index, len(h)), seed)
    probe, no_probe = probe_labels(representations, labels, seed, unit)
    rank, constant, duplicates = effective_rank(h, seed), constant_columns(h), duplicate_rows(h)
    collapsed, warnings = _warnings(len(h), h.shape[1], rank, constant, duplicates, unit)
    return Quality(
        h.shape[1], rank, constant, duplicates, neighborhood, chance, probe, no_probe, collapsed, warnings, unit
    )


def effective_rank(h: Tensor, seed: int = 0) -> float:
    r""":math:`\exp(-\sum_i p_i \log p_i)`, p: the normalized eigenvalues of the covariance (Roy and Vetterli 2007).

    Between 1 (all rows on a line) and the width (equal variance in every direction); 0 if all rows are the same.
    """
    # The cost is cubic in the shorter side.
    rows = SPECTRUM_ROWS if h.shape[1] <= SPECTRUM_ROWS // 2 else SPECTRUM_ROWS // 2
    h = row_selector(h)(sample(len(h), rows, seed))
    if not _varies(h).any():
        return 0.0
    eigenvalues = torch.linalg.eigvalsh(DesignMatrix(h).gram()).clamp(min=0)
    p = eigenvalues[eigenvalues > 1e-12 * eigenvalues[-1]] / eigenvalues.sum()
    return math.exp(-float((p * p.log()).sum()))


def constant_columns(h: Tensor) -> int:
    """The number of columns that are the same in all rows."""
    return int((~_varies(h)).sum())


def duplicate_rows(h: Tensor) -> float:
    """The fraction of rows that equal another row."""
    # Equal rows have equal products with random vectors. Three products, each rounded to a million steps, distinguish a
    # million rows, and the steps are coarser than rounding errors.
    vectors = torch.randn(h.shape[1], 3, generator=torch.Generator().manual_seed(0))
    products = (h @ vectors).double()
    size = products.abs().amax(0)
    products -= products.mean(0)
    steps = (products / torch.maximum(products.abs().amax(0), 1e-5 * size).clamp(min=1e-30) * (1 << 19)).round().long()
    key = (steps[:, 0] << 40) + (steps[:, 1] << 20) + steps[:, 2]
    _, inverse, counts = torch.unique(key, return_inverse=True, return_counts=True)
    return float((counts[inverse] > 1).double().mean())


def _varies(h: Tensor) -> Tensor:
    low, high = h.aminmax(dim=0)
    size = torch.maximum(low.abs(), high.abs()).max()
    return high - low > 1e-6 * size


def _warnings(
    rows: int, width: int, rank: float, constant: int, duplicates: float, unit: Unit
) -> tuple[bool, list[str]]:
    """Whether the embedding has collapsed, and warnings for the user."""
    if rows < 3:
        return False, [f"These numbers mean little for fewer than three {unit}s."]
    warnings = []
    if rank == 0:
        warnings.append(f"All rows are the same: the embedding does not distinguish the {unit}s.")
    elif width > 1 and rank < LINE_RANK:
        warnings.append(
            f"The rows lie almost on a line: the effective rank is {rank:.1f}, and there are {width} columns. Train "
            "longer or with a smaller learning rate, and check the features for a column with extreme values."
        )
    sentence = f"{100 * duplicates:.0f} % of the {unit}s have the same row as another {unit}"
    context = "neighbourhood" if unit == "node" else "structure"
    if duplicates > 0.5 and rank:
        warnings.append(f"{sentence}: neither their features nor their {context} distinguish them.")
    collapsed = bool(warnings)
    if 0.01 < duplicates <= 0.5:
        warnings.append(
            f"{sentence}. This is expected for {unit}s with the same features and the same {context}; "
            "no model can distinguish them."
        )
    if rank and constant:
        verb = "is" if constant == 1 else "are"
        warnings.append(f"{constant} of {width} columns {verb} the same for all {unit}s and can be dropped.")
    return collapsed, warnings
