"""The support vector machine of the tables on sets of graphs, with its strength chosen within the training folds."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC
from torch import Tensor

from girl.splits import Split

Matrix = NDArray[np.float64]
Numbers = NDArray[np.int64]

#: C, as InfoGraph, GraphCL and those after them try.
STRENGTHS = tuple(10.0**power for power in range(-3, 4))

#: Folds within the training graphs that choose C.
INNER = 5


class Machine:
    r"""The kernel machine on representations h of all graphs (n × d), dense or CSR.

    The Gaussian kernel :math:`k(h,h')=e^{-\gamma\|h-h'\|^2}` with :math:`1/\gamma` the number of columns times the
    variance of the entries, scikit-learn's ``"scale"``. Distances are computed once for all splits, and the kernel of a
    split once for all strengths.
    """

    def __init__(self, h: Tensor) -> None:
        self.h = (h if h.layout == torch.strided else h.to_dense()).double()
        lengths = self.h.square().sum(1)
        self.squares = (lengths.unsqueeze(1) + lengths - 2 * (self.h @ self.h.T)).clamp_(min=0)  # n × n

    def scores(self, y: Tensor, split: Split, seed: int = 0) -> tuple[float, float, float]:
        """The mean score of the inner folds, the score on the test graphs, and the C that was chosen.

        Training and validation graphs are one set, as is the custom: C is chosen by five folds within it, the smallest
        of equals, and the test graphs are looked at once.

        Args:
            y: classes of all graphs.
            split: which graphs do what.
            seed: of the inner folds.
        """
        known = torch.cat([split.train, split.val]).sort().values
        gamma = 1 / (self.h.shape[1] * max(float(self.h[known].var(correction=0)), 1e-12))
        kernel = self._kernel(gamma, known, known)
        target = y[known].numpy()
        folds = StratifiedKFold(INNER, shuffle=True, random_state=seed).split(kernel, target)
        means = np.mean([_along(kernel, target, fit, held) for fit, held in folds], 0)
        chosen = int(np.argmax(means))
        model = SVC(C=STRENGTHS[chosen], kernel="precomputed").fit(kernel, target)
        found = model.predict(self._kernel(gamma, split.test, known))
        return float(means[chosen]), float((found == y[split.test].numpy()).mean()), STRENGTHS[chosen]

    def _kernel(self, gamma: float, rows: Tensor, columns: Tensor) -> Matrix:
        return self.squares[rows][:, columns].mul_(-gamma).exp_().numpy()


def _along(kernel: Matrix, target: Numbers, fit: Numbers, held: Numbers) -> list[float]:
    """The score of every strength on the graphs held out."""
    seen, asked = kernel[np.ix_(fit, fit)], kernel[np.ix_(held, fit)]
    return [float(SVC(C=c, kernel="precomputed").fit(seen, target[fit]).score(asked, target[held])) for c in STRENGTHS]
