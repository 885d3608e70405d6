"""Metrics of predictions, and summaries of several scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from girl.errors import InputError


def accuracy(predicted: Tensor, y: Tensor) -> float:
    """The fraction of nodes whose class is predicted correctly; both arguments are classes (n)."""
    return float((predicted == y).double().mean())


def micro_f1(predicted: Tensor, y: Tensor) -> float:
    r"""Micro-averaged F1 of binary labels (n × c), :math:`2TP/(2TP+FP+FN)`; 1 if no label is true or predicted.

    With one class per node it equals accuracy, which is why tables often confuse the two. scikit-learn's ``f1_score``
    gives the same number many times slower: see ``results/bench/probe.json``.
    """
    predicted, y = predicted.bool(), y.bool()
    hits = int((predicted & y).sum())
    errors = int((predicted ^ y).sum())
    return 2 * hits / (2 * hits + errors) if hits + errors else 1.0


def roc_auc(scores: Tensor, y: Tensor) -> float:
    """The area under the ROC curve: how often a node of the second class scores higher than one of the first.

    Args:
        scores: larger means more likely the second class (n).
        y: two classes, both present (n); the second is the larger number.
    """
    return float(roc_auc_score(y.numpy(), scores.numpy()))


@dataclass(frozen=True)
class Summary:
    """Mean and sample standard deviation (ddof = 1) of scores; ``std`` is None for a single score."""

    mean: float
    std: float | None
    count: int

    def __str__(self) -> str:
        """In percent, as in tables: ``81.20 ± 0.50``."""
        return f"{100 * self.mean:.2f}" + (f" ± {100 * self.std:.2f}" if self.std is not None else "")


def summarize(scores: Sequence[float]) -> Summary:
    """Mean and standard deviation of scores over seeds or splits."""
    if not scores:
        raise InputError("scores: given none, expected at least one")
    values = torch.tensor(scores, dtype=torch.float64)
    return Summary(float(values.mean()), float(values.std()) if len(scores) > 1 else None, len(scores))


@dataclass(frozen=True)
class Comparison:
    """The mean of paired differences and its standard error; ``error`` is None for a single pair."""

    difference: float
    error: float | None
    count: int

    def __str__(self) -> str:
        """In percentage points: ``+1.20 ± 0.30``."""
        return f"{100 * self.difference:+.2f}" + (f" ± {100 * self.error:.2f}" if self.error is not None else "")


def compare(scores: Sequence[float], others: Sequence[float]) -> Comparison:
    r"""How much better ``scores`` are than ``others``, pair by pair on the same splits and seeds.

    With differences :math:`\delta_i` the error is :math:`\mathrm{std}(\delta)/\sqrt{k}`. Whether a split is easy or
    hard affects both sides alike and cancels, so differences far below the standard deviation of either can be seen.
    Random splits of one graph overlap: the error estimates what more splits of *this* graph would change, not what
    another graph would.
    """
    if len(scores) != len(others):
        raise InputError(f"scores: given {len(scores)} and {len(others)}, expected pairs on the same splits and seeds")
    differences = summarize([a - b for a, b in zip(scores, others, strict=True)])
    error = None if differences.std is None else differences.std / math.sqrt(differences.count)
    return Comparison(differences.mean, error, differences.count)
