"""Probes: how well simple classifiers read labels off a frozen representation."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from girl.errors import InputError
from girl.evaluation.design_matrix import take
from girl.evaluation.logistic import logistic_path
from girl.evaluation.metrics import accuracy, micro_f1
from girl.evaluation.mlp import MLP, fit_mlp
from girl.evaluation.svm import Machine
from girl.splits import Split

Kind = Literal["linear", "mlp", "svm"]

#: C of the linear probe, in half decades; rows of mean squared length one give it the same meaning everywhere.
STRENGTHS = tuple(10 ** (half / 2) for half in range(-6, 9))

#: Weight decays of the MLP probe, the strongest first.
DECAYS = (1e-2, 1e-3, 1e-4, 1e-5)


@dataclass(frozen=True)
class Score:
    """What a probe found."""

    kind: Kind
    metric: Literal["accuracy", "micro-F1"]
    val: float
    """A fraction, of the chosen strength: it was chosen for it, and is no estimate of anything."""
    test: float
    """A fraction, computed once, for the chosen strength."""
    strength: float
    """C of the linear probe and of the SVM (larger is weaker), the weight decay of the MLP (larger is stronger)."""
    seconds: float


def probe(
    h: Tensor,
    y: Tensor,
    split: Split,
    kind: Kind = "linear",
    *,
    multilabel: bool = False,
    seed: int = 0,
    machine: Machine | None = None,
) -> Score:
    r"""Fit a classifier on training nodes, choose its strength on validation nodes, score it once on test nodes.

    ``linear`` is logistic regression (one sigmoid per label if ``multilabel``) with an L2 penalty, on columns centred
    and the whole matrix scaled by one number, both from training rows; see :mod:`girl.evaluation.logistic`. It has no
    random part. ``mlp`` is the paper's: two layers with ELU, stopped early on validation; see
    :mod:`girl.evaluation.mlp`. ``svm`` is the field's for sets of graphs: a kernel machine that chooses its strength by
    folds within training and validation together; see :mod:`girl.evaluation.svm`.

    Validation sets are small, and the best of fifteen noisy scores is partly luck. A strength is therefore judged by
    the mean of its own score and its neighbours' (weights ¼, ½, ¼), and ties go to the stronger penalty.

    Args:
        h: a representation of every node, n × d, dense or CSR; a sparse one is never made dense.
        y: classes (n), or yes-or-no labels (n × c) with ``multilabel``.
        split: which nodes do what.
        kind: ``"linear"``, ``"mlp"`` or ``"svm"``.
        multilabel: whether y holds several labels per node; the metric is then micro-F1 at probability ½.
        seed: of the MLP's first weights and batches, and of the SVM's folds.
        machine: the SVM on ``h``, if there is one already from another split.

    Example:
        >>> import torch
        >>> from girl.evaluation.probe import probe
        >>> from girl.splits import Split
        >>> h = torch.randn(300, 4, generator=torch.Generator().manual_seed(0))
        >>> nodes = torch.arange(300)
        >>> probe(h, (h[:, 0] > 0).long(), Split(nodes[:100], nodes[100:200], nodes[200:])).test > 0.9
        True
    """
    began = time.perf_counter()
    task = _Task(h, y, split, multilabel)
    if kind == "linear":
        val, test, strength = _linear(task)
    elif kind == "mlp":
        val, test, strength = _mlp(task, seed)
    elif kind == "svm":
        if multilabel:
            raise InputError("probe: given 'svm' with several labels at once, expected 'linear' or 'mlp'")
        val, test, strength = (machine or Machine(h.detach().cpu())).scores(y.cpu(), split, seed)
    else:
        raise InputError(f"probe: given {kind!r}, expected 'linear', 'mlp' or 'svm'")
    return Score(kind, "micro-F1" if multilabel else "accuracy", val, test, strength, time.perf_counter() - began)


class _Task:
    """Rows and targets of the three parts, with the labels that training cannot tell apart set aside."""

    def __init__(self, h: Tensor, y: Tensor, split: Split, multilabel: bool) -> None:
        _check(h, y, split, multilabel)
        h, y = h.detach().cpu(), y.detach().cpu()
        h = h if h.dtype in (torch.float32, torch.float64) else h.float()
        self.multilabel = multilabel
        self.rows = take(h)
        self._split = split
        self._y = y
        self.x = self.rows(split.train)
        train = y[split.train]
        if multilabel:
            share = train.double().mean(0)
            # A label that all or no training node has cannot be learnt: it is predicted as it was seen.
            self._kept = torch.nonzero((share > 0) & (share < 1)).flatten()
            self._constant = share > 0.5
            self.y = train[:, self._kept].to(h.dtype)
            varied = len(self._kept) > 0
        else:
            # Classes without a training node have no finite weights; they are never predicted.
            self._kept, self.y = torch.unique(train, return_inverse=True)
            varied = len(self._kept) > 1
        if not varied:
            raise InputError("y: all training nodes have the same label, expected at least two different ones")
        self.val = self.rows(split.val)

    def score(self, logits: Tensor, nodes: Tensor) -> float:
        """The metric of logits of the labels kept."""
        if not self.multilabel:
            return accuracy(self._kept[logits.argmax(1)], self._y[nodes])
        predicted = self._constant.expand(len(nodes), -1).clone()
        predicted[:, self._kept] = logits > 0
        return micro_f1(predicted, self._y[nodes])

    def validate(self, logits: Tensor) -> float:
        return self.score(logits, self._split.val)

    def test(self, model: Callable[[Tensor], Tensor]) -> float:
        """The one look at the test nodes."""
        with torch.no_grad():
            return self.score(model(self.rows(self._split.test)), self._split.test)

    def loss(self, logits: Tensor) -> float:
        """The mean cross-entropy on validation, over labels that training saw."""
        target = self._y[self._split.val]
        if self.multilabel:
            return float(
                torch.nn.functional.binary_cross_entropy_with_logits(logits, target[:, self._kept].to(logits.dtype))
            )
        place = torch.searchsorted(self._kept, target).clamp(max=len(self._kept) - 1)
        seen = self._kept[place] == target
        if not bool(seen.any()):
            return 0.0
        return float(torch.nn.functional.cross_entropy(logits[seen], place[seen]))


def _linear(task: _Task) -> tuple[float, float, float]:
    models = list(logistic_path(task.x, task.y, STRENGTHS))
    scores = [task.validate(model(task.val)) for model in models]
    chosen = choose(scores)
    return scores[chosen], task.test(models[chosen]), models[chosen].strength


def _mlp(task: _Task, seed: int) -> tuple[float, float, float]:
    x, val = task.x.to(torch.float32), task.val.to(torch.float32)
    y = task.y.float() if task.multilabel else task.y

    @torch.no_grad()
    def score(model: MLP) -> tuple[float, float]:
        logits = model(val)
        return task.validate(logits), -task.loss(logits)

    fits = [(decay, *fit_mlp(x, y, take(x), score, decay, seed)) for decay in DECAYS]
    decay, model, (best, _) = max(fits, key=lambda fit: fit[2])
    return best, task.test(lambda rows: model(rows.to(torch.float32))), decay


def choose(scores: Sequence[float]) -> int:
    """The place of the best score, each first averaged with its neighbours (¼, ½, ¼); the first one of equals."""
    padded = np.pad(np.asarray(scores, dtype=float), 1, mode="edge")
    smooth = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
    # Sums of the same scores in another order differ in their last digit, which must not decide.
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
    # Validation and test may be the same: a search that must not see the test nodes scores on validation twice.
    both = split.train[torch.isin(split.train, torch.cat([split.val, split.test]))]
    if len(both):
        raise InputError(
            f"split: given {len(both)} train nodes that are val or test nodes too, such as {int(both[0])}, "
            "expected none: leave them out of one"
        )
