"""The kernel SVM used on sets of graphs, with C chosen by cross-validation within the training graphs."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC
from torch import Tensor

from girl.datasets.registry import Metric
from girl.errors import InputError
from girl.splits import Split

#: Values of C, as in InfoGraph, GraphCL and later papers.
C_GRID = tuple(10.0**power for power in range(-3, 4))

#: Folds within the training graphs that choose C.
FOLDS = 5


class KernelSVM:
    r"""A support vector machine on embeddings h of all graphs (n × d), dense or CSR.

    The kernel is Gaussian, :math:`k(h,h')=e^{-\gamma\|h-h'\|^2}`, with :math:`1/\gamma` the number of columns times the
    variance of the entries (scikit-learn's ``gamma="scale"``). Distances are computed once for all splits, and the
    kernel of a split once for all C.
    """

    def __init__(self, h: Tensor) -> None:
        self.h = (h if h.layout == torch.strided else h.to_dense()).double()
        lengths = self.h.square().sum(1)
        self.squares = (lengths.unsqueeze(1) + lengths - 2 * (self.h @ self.h.T)).clamp_(min=0)  # n × n

    def score(self, y: Tensor, split: Split, seed: int = 0, metric: Metric = "accuracy") -> tuple[float, float, float]:
        """The mean score of the inner folds, the score on the test graphs, and the chosen C.

        As is usual for these datasets, training and validation graphs form one set. Five folds within it choose C (the
        smallest of equals); the test graphs are used once.

        Args:
            y: classes of all graphs.
            split: training, validation and test graphs.
            seed: seed of the inner folds.
            metric: the score; ``"AUC"`` is that of the decision function, and needs two classes.
        """
        train = torch.cat([split.train, split.val]).sort().values
        rarest = int(y[train].unique(return_counts=True)[1].min())
        if metric == "AUC" and rarest < FOLDS:
            raise InputError(
                f"probe: given 'svm' with AUC and {rarest} training and validation rows of the rarer class, "
                f"expected at least {FOLDS}, one for each inner fold; use 'linear' or 'mlp'"
            )
        gamma = 1 / (self.h.shape[1] * max(float(self.h[train].var(correction=0)), 1e-12))
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
        search = GridSearchCV(
            SVC(kernel="precomputed"), {"C": C_GRID}, scoring="roc_auc" if metric == "AUC" else "accuracy", cv=folds
        )
        search.fit(self._kernel(gamma, train, train), y[train].numpy())
        test = search.score(self._kernel(gamma, split.test, train), y[split.test].numpy())
        return float(search.best_score_), float(test), float(search.best_params_["C"])

    def _kernel(self, gamma: float, rows: Tensor, columns: Tensor) -> NDArray[np.float64]:
        return self.squares[rows][:, columns].mul_(-gamma).exp_().numpy()
