"""Probes: how well a simple classifier predicts labels from a frozen embedding."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from girl.datasets.registry import Metric
from girl.errors import InputError
from girl.evaluation.design_matrix import row_selector
from girl.evaluation.logistic import logistic_path
from girl.evaluation.metrics import accuracy, micro_f1, roc_auc
from girl.evaluation.mlp import MLP, fit_mlp
from girl.evaluation.svm import KernelSVM
from girl.splits import Split

Kind = Literal["linear", "mlp", "svm"]

#: C of the linear probe, in half decades; rows are scaled to mean squared length one, so C means the same everywhere.
C_GRID = tuple(10 ** (half / 2) for half in range(-6, 9))

#: Weight decays of the MLP probe, the strongest first.
WEIGHT_DECAYS = (1e-2, 1e-3, 1e-4, 1e-5)


@dataclass(frozen=True)
class Score:
    """The result of a probe on one split."""

    kind: Kind
    metric: Metric | Literal["micro-F1"]
    val: float
    """The validation score (a fraction) that chose ``strength``: too good to serve as an estimate."""
    test: float
    """The test score (a fraction), computed once, for the chosen ``strength``."""
    strength: float
    """Chosen C of the linear probe and the SVM (larger is weaker), or weight decay of the MLP (larger is stronger)."""
    seconds: float


def probe(
    h: Tensor,
    y: Tensor,
    split: Split,
    kind: Kind = "linear",
    *,
    multilabel: bool = False,
    metric: Metric = "accuracy",
    seed: int = 0,
    svm: KernelSVM | None = None,
) -> Score:
    r"""Fit a classifier on training nodes, choose its regularization on validation nodes, score it on test nodes.

    ``linear`` is logistic regression (one sigmoid per label if ``multilabel``) with an L2 penalty. Columns are centred
    and the matrix is scaled by one number, both from training rows; see :mod:`girl.evaluation.logistic`. It is
    deterministic. ``mlp`` is the paper's: two layers with ELU and early stopping; see :mod:`girl.evaluation.mlp`.
    ``svm`` is the usual one for sets of graphs: a kernel SVM that chooses C by cross-validation on training and
    validation graphs together; see :mod:`girl.evaluation.svm`.

    Validation sets are small, and the best of fifteen noisy scores is partly luck. Each C is therefore judged by the
    mean of its own score and its neighbours' (weights ¼, ½, ¼), and ties go to the stronger penalty.

    Args:
        h: an embedding of every node, n × d, dense or CSR; a sparse one is never made dense.
        y: classes (n), or binary labels (n × c) with ``multilabel``.
        split: training, validation and test nodes.
        kind: ``"linear"``, ``"mlp"`` or ``"svm"``.
        multilabel: whether a node may have several labels; they are scored by micro-F1 at probability ½.
        metric: how classes are scored on validation and test nodes: ``"accuracy"``, or ``"AUC"``, the area under the
            ROC curve of two classes.
        seed: seed of the MLP's weights and batches, and of the SVM's folds.
        svm: the SVM on ``h``, if another split has built it already.

    Example:
        >>> import torch
        >>> from girl.evaluation.probe import probe
        >>> from girl.splits import Split
        >>> h = torch.randn(300, 4, generator=torch.Generator().manual_seed(0))
        >>> nodes = torch.arange(300)
        >>> probe(h, (h[:, 0] > 0).long(), Split(nodes[:100], nodes[100:200], nodes[200:])).test > 0.9
        True
    """
    start = time.perf_counter()
    task = _Task(h, y, split, multilabel, metric)
    if kind == "linear":
        val, test, strength = _linear(task)
    elif kind == "mlp":
        val, test, strength = _mlp(task, seed)
    elif kind == "svm":
        if multilabel:
            raise InputError("probe: given 'svm' with several labels per node, expected 'linear' or 'mlp'")
        val, test, strength = (svm or KernelSVM(h.detach().cpu())).score(y.cpu(), split, seed, metric)
    else:
        raise InputError(f"probe: given {kind!r}, expected 'linear', 'mlp' or 'svm'")
    return Score(kind, "micro-F1" if multilabel else metric, val, test, strength, time.perf_counter() - start)


class _Task:
    """Rows and labels of the three parts of a split, without the labels that cannot be learned."""

    def __init__(self, h: Tensor, y: Tensor, split: Split, multilabel: bool, metric: Metric) -> None:
        _check(h, y, split, multilabel)
        _check_metric(metric, y, split, multilabel)
        h, y = h.detach().cpu(), y.detach().cpu()
        h = h if h.dtype in (torch.float32, torch.float64) else h.float()
        self.multilabel = multilabel
        self._metric = metric
        self.rows = row_selector(h)
        self._split = split
        self._y = y
        self.x = self.rows(split.train)
        train = y[split.train]
        if multilabel:
            # A label that all or no training nodes have cannot be learned: it is predicted as constant.
            rate = train.double().mean(0)
            self._learned = torch.nonzero((rate > 0) & (rate < 1)).flatten()
            self._constant = rate > 0.5
            self.y = train[:, self._learned].to(h.dtype)
        else:
            # Classes without a training node have no finite weights; they are never predicted.
            self._learned, self.y = torch.unique(train, return_inverse=True)
        if len(self._learned) < (1 if multilabel else 2):
            raise InputError("y: all training nodes have the same label, expected at least two different ones")
        self.val = self.rows(split.val)

    def score(self, logits: Tensor, nodes: Tensor) -> float:
        """The metric, from logits of the learned labels."""
        if self._metric == "AUC":
            return roc_auc(logits[:, 1] - logits[:, 0], self._y[nodes])
        if not self.multilabel:
            return accuracy(self._learned[logits.argmax(1)], self._y[nodes])
        predicted = self._constant.expand(len(nodes), -1).clone()
        predicted[:, self._learned] = logits > 0
        return micro_f1(predicted, self._y[nodes])

    def validate(self, logits: Tensor) -> float:
        return self.score(logits, self._split.val)

    @torch.no_grad()
    def test(self, model: Callable[[Tensor], Tensor]) -> float:
        """The test score, the only use of the test nodes."""
        return self.score(model(self.rows(self._split.test)), self._split.test)

    def loss(self, logits: Tensor) -> float:
        """The mean cross-entropy on validation nodes, over the learned labels."""
        y = self._y[self._split.val]
        if self.multilabel:
            return float(binary_cross_entropy_with_logits(logits, y[:, self._learned].to(logits.dtype)))
        index = torch.searchsorted(self._learned, y).clamp(max=len(self._learned) - 1)
        learned = self._learned[index] == y
        return float(cross_entropy(logits[learned], index[learned])) if bool(learned.any()) else 0.0


def _linear(task: _Task) -> tuple[float, float, float]:
    models = list(logistic_path(task.x, task.y, C_GRID))
    scores = [task.validate(model(task.val)) for model in models]
    best = smoothed_argmax(scores)
    return scores[best], task.test(models[best]), models[best].c


def _mlp(task: _Task, seed: int) -> tuple[float, float, float]:
    x, val = task.x.to(torch.float32), task.val.to(torch.float32)
    y = task.y.float() if task.multilabel else task.y

    @torch.no_grad()
    def score(model: MLP) -> tuple[float, float]:
        logits = model(val)
        return task.validate(logits), -task.loss(logits)

    fits = [(decay, *fit_mlp(x, y, row_selector(x), score, decay, seed)) for decay in WEIGHT_DECAYS]
    decay, model, (best, _) = max(fits, key=lambda fit: fit[2])
    return best, task.test(lambda rows: model(rows.to(torch.float32))), decay


def smoothed_argmax(scores: Sequence[float]) -> int:
    """The index of the best score after averaging each with its neighbours (¼, ½, ¼); the first of equals."""
    padded = np.pad(np.asarray(scores, dtype=float), 1, mode="edge")
    smooth = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
    # The tolerance keeps rounding errors from breaking ties.
    return int(np.argmax(smooth >= smooth.max() - 1e-9))


def _check(h: Tensor, y: Tensor, split: Split, multilabel: bool) -> None:
    if h.dim() != 2 or h.layout not in (torch.strided, torch.sparse_csr):
        raise InputError(f"h: given shape {tuple(h.shape)} and layout {h.layout}, expected n × d, dense or CSR")
    if not h.shape[1]:
        raise InputError(f"h: given shape {tuple(h.shape)}, expected at least one column")
    if y.dim() != (2 if multilabel else 1) or len(y) != len(h):
        expected = f"({len(h)}, classes) with multilabel=True" if multilabel else f"({len(h)},)"
        raise InputError(f"y: given shape {tuple(y.shape)}, expected {expected}: one row for each row of h")
    if not bool(torch.isfinite(h.values() if h.layout == torch.sparse_csr else h).all()):
        raise InputError("h: given NaN or infinite entries, expected finite numbers: the encoder has diverged")
    for name, nodes in (("train", split.train), ("val", split.val), ("test", split.test)):
        if not len(nodes):
            raise InputError(f"split: given no {name} nodes, expected at least one")
        if int(nodes.min()) < 0 or int(nodes.max()) >= len(h):
            raise InputError(f"split: given {name} nodes up to {int(nodes.max())}, expected 0 to {len(h) - 1}")
        if not bool((y[nodes] >= 0).all()):
            raise InputError(f"split: given {name} nodes without a label (-1 or NaN), expected labelled ones only")
    # Validation and test may be the same: a search that must not use the test nodes scores on validation twice.
    shared = split.train[torch.isin(split.train, torch.cat([split.val, split.test]))]
    if len(shared):
        raise InputError(
            f"split: given {len(shared)} train nodes that are val or test nodes too, such as {int(shared[0])}, "
            "expected none: each node may be in one part only"
        )


def _check_metric(metric: Metric, y: Tensor, split: Split, multilabel: bool) -> None:
    if metric not in get_args(Metric):
        raise InputError(f"metric: given {metric!r}, expected {' or '.join(map(repr, get_args(Metric)))}")
    if metric != "AUC":
        return
    if multilabel:
        raise InputError("metric: given 'AUC' with several labels per node, expected the default: they have micro-F1")
    parts = {"train": y[split.train], "val": y[split.val], "test": y[split.test]}
    classes = len(torch.cat(list(parts.values())).unique())
    if classes > 2:
        raise InputError(f"metric: given 'AUC' for {classes} classes, expected two; score more by 'accuracy'")
    for name, labels in parts.items():
        if len(labels.unique()) < 2:
            raise InputError(f"split: given {name} nodes of one class only, expected both: AUC compares them")
