r"""The judge: how good a representation of a graph is, without labels.

A quarter of the feature columns and of the edges is hidden. A representation is made of what is left, and kernel
regression explains the hidden part from it, each node from others. The explained share is
:math:`1 - \hat\rho^2(\text{hidden}\,|\,Z)`, on targets with a spread of 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import mean, variance
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.graph.feature_scaling import FeatureScaling
from girl.graph.hidden import MIN_GROUPS, TARGET_TEXT, TARGETS, HiddenTask, column_groups, hide
from girl.graph.node_features import NodeFeatures
from girl.kernel.scales import learn_by_both_kernels, score_of_shares

#: A function that makes a representation (n × k) of the visible part of a graph.
Representation = Callable[[Batch], ArrayLike | Tensor]


@dataclass(frozen=True)
class Judgement:
    """How much of what was hidden a representation explains."""

    explained: dict[str, float]
    """The share of each hidden part: ``columns`` (the node's hidden features), ``neighbors`` (features of hidden
    neighbours) and ``positions`` (where hidden edges put a node). 0: nothing; 1: all. It may be below 0."""
    stderr: dict[str, float]
    """The standard error of each share, over draws of rows, columns and edges."""
    score: float
    """One number to compare representations of the same graph by: the larger, the better."""
    note: str
    """What could not be judged, if something could not."""

    def __str__(self) -> str:
        """A line for each hidden part."""
        lines = [
            f"{TARGET_TEXT[name]}: {100 * share:.1f} ± {100 * self.stderr[name]:.1f} % explained"
            for name, share in self.explained.items()
        ]
        return "\n".join([*lines, *([self.note] if self.note else [])])


def judge_batch(
    data: Batch, representation: Representation, *, rows: int = 3000, repeats: int = 3, seed: int = 0
) -> Judgement:
    """Judge a representation of a graph: see :func:`girl.judge`."""
    features, groups = explained_features(data)
    tasks = (hide(data, features, groups, rows, seed + repeat) for repeat in range(repeats))
    return judge_tasks(tasks, representation, _note(data, groups))


def explained_features(data: Batch) -> tuple[NodeFeatures | None, Tensor | None]:
    """The features on the scale on which they are explained, and the group of each column; None if there are none."""
    if not data.x.shape[1] or data.x.is_ids:
        return None, None
    scaling = FeatureScaling(data.x.shape[1]).to(data.x.device)
    scaling.fit(data.x)
    return scaling(data.x), column_groups(data)


def judge_tasks(tasks: Iterable[HiddenTask], representation: Representation, note: str = "") -> Judgement:
    """Judge a representation by how much it explains in each of ``tasks``, on average."""
    shares: list[dict[str, float]] = []
    errors: list[dict[str, float]] = []
    for task in tasks:
        if not task.targets:
            raise InputError("data: given too few edges and columns to hide some of them, expected a larger graph")
        z = _matrix(representation(task.visible), task.visible.num_nodes)[task.rows.cpu()]
        if float(z.var(0, correction=0).sum()) <= 1e-12:
            raise InputError("representation: given the same row for all nodes, expected rows that differ")
        learned = learn_by_both_kernels([z], list(task.targets.values()), [TARGETS[name] for name in task.targets])
        shares.append(dict(zip(task.targets, learned.shares, strict=True)))
        errors.append(dict(zip(task.targets, learned.stderrs, strict=True)))
    names = [name for name in TARGETS if all(name in one for one in shares)]
    explained = {name: mean(one[name] for one in shares) for name in names}
    stderr = {}
    for name in names:
        between = variance([one[name] for one in shares]) if len(shares) > 1 else 0.0
        stderr[name] = math.sqrt((mean(one[name] ** 2 for one in errors) + between) / len(shares))
    score = score_of_shares(list(explained.values()), [TARGETS[name] for name in names])
    return Judgement(explained, stderr, score, note)


def _note(data: Batch, groups: Tensor | None) -> str:
    if not data.x.shape[1]:
        return "The graph has no features: only hidden edges are explained."
    if groups is None:
        return "The features only name the nodes: only hidden edges are explained."
    count = int(groups.max()) + 1
    if count < MIN_GROUPS:
        return f"{count} columns are too few to hide some: hidden neighbours and edges are explained."
    return ""


def _matrix(values: Any, n: int) -> Tensor:
    """A representation as a float matrix on the CPU."""
    z = values.detach().cpu() if isinstance(values, Tensor) else torch.from_numpy(np.asarray(values))
    z = z.to_dense().float() if z.layout != torch.strided else z.float()
    if z.dim() != 2 or len(z) != n:
        raise InputError(f"representation: given shape {tuple(z.shape)}, expected {n} rows, one for each node")
    if not bool(z.isfinite().all()):
        raise InputError("representation: given NaN or infinite numbers, expected finite ones")
    return z
