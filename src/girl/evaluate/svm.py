"""The support vector machine of the tables on sets of graphs, with its strength chosen within the training folds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC
from torch import Tensor

from girl.evaluate.split import Split

Matrix = NDArray[np.float64]
Numbers = NDArray[np.int64]

#: C, as InfoGraph, GraphCL and those after them try.
STRENGTHS = tuple(10.0**power for power in range(-3, 4))

#: Folds within the training graphs that choose C.
INNER = 5


def svm_scores(rows: Callable[[Tensor], Tensor], y: Tensor, split: Split, seed: int = 0) -> tuple[float, float, float]:
    r"""The mean score of the inner folds, the score on the test graphs, and the C that was chosen.

    The Gaussian kernel :math:`k(h,h')=e^{-\gamma\|h-h'\|^2}` with :math:`1/\gamma` the number of columns times the
    variance of the entries, scikit-learn's ``"scale"``. It is computed once for all strengths and folds. Training and
    validation graphs are one set, as is the custom: C is chosen by five folds within it, the smallest of equals, and
    the test graphs are looked at once.

    Args:
        rows: gives the representations of some graphs (k × d).
        y: classes of all graphs.
        split: which graphs do what.
        seed: of the inner folds.
    """
    known = torch.cat([split.train, split.val]).sort().values
    x, other = rows(known).double(), rows(split.test).double()
    x, other = (z.to_dense() if z.layout != torch.strided else z for z in (x, other))
    gamma = 1 / (x.shape[1] * max(float(x.var(correction=0)), 1e-12))
    kernel = torch.exp(-gamma * _squares(x, x)).numpy()
    target = y[known].numpy()
    folds = list(StratifiedKFold(INNER, shuffle=True, random_state=seed).split(kernel, target))
    scores = [np.mean([_score(kernel, target, c, fit, held) for fit, held in folds]) for c in STRENGTHS]
    chosen = int(np.argmax(scores))
    model = SVC(C=STRENGTHS[chosen], kernel="precomputed").fit(kernel, target)
    found = model.predict(torch.exp(-gamma * _squares(other, x)).numpy())
    return float(scores[chosen]), float((found == y[split.test].numpy()).mean()), STRENGTHS[chosen]


def _score(kernel: Matrix, target: Numbers, c: float, fit: Numbers, held: Numbers) -> float:
    model = SVC(C=c, kernel="precomputed").fit(kernel[np.ix_(fit, fit)], target[fit])
    return float(model.score(kernel[np.ix_(held, fit)], target[held]))


def _squares(a: Tensor, b: Tensor) -> Tensor:
    """Squared distances of rows (n × m)."""
    found = a.square().sum(1, keepdim=True) + b.square().sum(1) - 2 * (a @ b.T)
    return found.clamp_(min=0)
