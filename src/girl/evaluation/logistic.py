r"""Logistic regression for a grid of C, in principal axes, each fit started from the one before.

For classes (softmax) or independent binary labels (one sigmoid each) it minimises what scikit-learn minimises,

.. math::

    C\sum_i \ell(y_i, W^\top\tilde x_i + b) + \tfrac12\lVert W\rVert^2,

with an unpenalised intercept b. Two facts make the whole grid cost a few ordinary fits:

- The L2 penalty does not change under rotations, and W lies in the span of the training rows. So the problem is solved
  in the principal axes of :math:`\tilde X`, at most min(n, d) of them, and W is rotated back at the end. This is exact:
  a raw bag of words with 140 training rows is a problem with 139 unknowns per class.
- In these axes the Hessian is almost diagonal, :math:`C h_c s_j^2 + 1` for class c and axis j with :math:`h_c` the mean
  of p(1-p). L-BFGS in variables divided by its root needs tens of steps where raw columns need hundreds.

scikit-learn's LogisticRegression with a warm start and its default tolerance stops far from the optimum. With
``tol=1e-6`` it comes close, but is slower on more than a thousand columns and faster on few: see
``results/bench/probe.json``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor

from girl.evaluation.design_matrix import DesignMatrix
from girl.threads import one_blas_thread, one_thread

#: Principal axes are used up to this many rows or columns; above, their cubic cost exceeds what they save.
MAX_ROTATED = 2048

#: Axes with less than this fraction of the largest variance are rounding errors.
NEGLIGIBLE = 1e-12

#: Up to this many entries float64 costs hardly more than float32, and one thread is enough.
SMALL = 500_000

#: L-BFGS stops when no entry of the scaled gradient of the mean loss exceeds the first number (gtol), or when the loss
#: falls by a smaller fraction than the second (ftol). Float32 has seven digits: tighter limits are never reached.
TOLERANCE = {torch.float64: (3e-7, 1e-14), torch.float32: (1e-4, 1e-7)}


@dataclass(frozen=True)
class LinearModel:
    """A fitted model: logits are ``x @ weight + bias``, for x before standardization."""

    c: float
    weight: Tensor
    bias: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        return x @ self.weight.to(x.dtype) + self.bias.to(x.dtype)


def logistic_path(x: Tensor, y: Tensor, c_grid: Sequence[float]) -> Iterator[LinearModel]:
    r"""Logistic regressions of y on x for increasing C, each started from the one before.

    Args:
        x: training rows n × d, dense or CSR; standardized inside.
        y: classes 0..k-1, each present (n, integers), or binary labels, each 0 and 1 somewhere (n × k, floats).
        c_grid: increasing values of C, that is, weaker and weaker penalties.
    """
    design = DesignMatrix(x)
    axes = _PrincipalAxes(design)
    multilabel = y.dim() == 2
    k = y.shape[1] if multilabel else int(y.max()) + 1
    # From here on classes come first: weights k × r, logits k × n.
    onehot = (y.T if multilabel else torch.nn.functional.one_hot(y, k).T).to(axes.dtype).contiguous()
    # Intercepts start at the class frequencies, the solution for C → 0.
    rate = onehot.mean(1, keepdim=True)
    bias = torch.logit(rate) if multilabel else rate.log() - rate.log().mean()
    weight = torch.zeros(k, axes.shape[1], dtype=axes.dtype)
    for c in c_grid:
        weight, bias = _Objective(axes, onehot, multilabel, c, weight, bias).minimize()
        columns = axes.to_columns(weight).to(x.dtype) / design.scale  # k × d
        yield LinearModel(c, columns.T, bias[:, 0].to(x.dtype) - columns @ design.mean[0])


class _PrincipalAxes:
    r"""The training rows in their principal axes, :math:`\tilde X V = U S`; unrotated if there are too many."""

    def __init__(self, design: DesignMatrix) -> None:
        n, d = design.shape
        self._design = design
        self._rotation: Tensor | None = None
        if min(n, d) > MAX_ROTATED:
            self.shape = (n, d)
            self.dtype = design.x.dtype
            self.variances = _column_variances(design)
            return
        variances, axes = torch.linalg.eigh(design.gram())
        used = variances > NEGLIGIBLE * variances[-1].clamp(min=1e-30)
        self.shape = (n, int(used.sum()))
        self.dtype = torch.float64 if n * self.shape[1] <= SMALL else torch.float32
        self.variances = variances[used].to(self.dtype)  # s², of each axis
        axes = axes[:, used].T.to(self.dtype)  # r × min(n, d)
        root = self.variances.sqrt()[:, None]
        if n < d:  # the axes are Uᵀ: V = X̃ᵀ U / S is applied in two steps and never formed
            self._rows = (axes * root).T.contiguous()
            self._rotation = axes / root
        else:
            self._rows = design.times_transpose(axes.to(design.x.dtype)).T.to(self.dtype).contiguous()
            self._rotation = axes
        self._dual = n < d

    def times_transpose(self, w: Tensor) -> Tensor:
        return self._design.times_transpose(w) if self._rotation is None else w @ self._rows.T

    def times(self, g: Tensor) -> Tensor:
        return self._design.times(g) if self._rotation is None else g @ self._rows

    def to_columns(self, w: Tensor) -> Tensor:
        """Weights of the axes as weights of the columns."""
        if self._rotation is None:
            return w
        rotated = w @ self._rotation
        return self._design.times(rotated.to(self._design.x.dtype)) if self._dual else rotated


class _Objective:
    """The mean loss for one C, in variables scaled so that its Hessian is about the identity at the start."""

    def __init__(
        self, axes: _PrincipalAxes, onehot: Tensor, multilabel: bool, c: float, weight: Tensor, bias: Tensor
    ) -> None:
        self._axes = axes
        self._onehot = onehot
        self._multilabel = multilabel
        n = axes.shape[0]
        self._decay = 1 / (c * n)
        probabilities, _ = self._probabilities(axes.times_transpose(weight) + bias)
        # The floor is for classes that are fitted almost perfectly: there the curvature says little about the next C.
        curvature = (probabilities * (1 - probabilities)).mean(1, keepdim=True).clamp(min=1e-4)  # k × 1
        diagonal = [(curvature * axes.variances / n + self._decay).sqrt(), curvature.sqrt()]
        self._root = torch.cat(diagonal, 1)  # k × (r + 1)
        self._start = torch.cat([weight, bias], 1) * self._root

    def minimize(self) -> tuple[Tensor, Tensor]:
        """Weights k × r and intercepts k × 1."""
        gtol, ftol = TOLERANCE[self._axes.dtype]
        small = self._axes.shape[0] * self._axes.shape[1] <= SMALL
        with one_thread() if small else one_blas_thread():
            solution = minimize(
                self._value_and_gradient,
                self._start.double().numpy().ravel(),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": 500, "maxcor": 20, "gtol": gtol, "ftol": ftol},
            )
        return self._split(solution.x)

    def _value_and_gradient(self, theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weight, bias = self._split(theta)
        n = self._axes.shape[0]
        logits = self._axes.times_transpose(weight).add_(bias)
        probabilities, loss = self._probabilities(logits)
        # The loss of float32 logits is summed in float64: the line search depends on its last digits.
        loss -= float((logits * self._onehot).sum(dtype=torch.float64))
        value = loss / n + 0.5 * self._decay * float(weight.double().square().sum())
        residual = probabilities.sub_(self._onehot)
        gradient = (self._axes.times(residual) / n).add_(weight, alpha=self._decay)
        gradient = torch.cat([gradient, residual.mean(1, keepdim=True)], 1).div_(self._root)
        return value, gradient.double().numpy().ravel()

    def _probabilities(self, logits: Tensor) -> tuple[Tensor, float]:
        """Probabilities, and the sum of their log normalizers."""
        if self._multilabel:
            return logits.sigmoid(), float(torch.nn.functional.softplus(logits).sum(dtype=torch.float64))
        top = logits.amax(0, keepdim=True)
        probabilities = (logits - top).exp_()
        total = probabilities.sum(0, keepdim=True)
        return probabilities.div_(total), float((total.log() + top).sum(dtype=torch.float64))

    def _split(self, theta: NDArray[np.float64]) -> tuple[Tensor, Tensor]:
        both = torch.from_numpy(theta).to(self._axes.dtype).view(self._root.shape) / self._root
        return both[:, :-1], both[:, -1:]


def _column_variances(design: DesignMatrix) -> Tensor:
    x = design.x
    if x.layout == torch.sparse_csr:
        sums = torch.zeros(x.shape[1], dtype=x.dtype).index_add_(0, x.col_indices(), x.values().square())
    else:
        sums = x.square().sum(0)
    return (sums - len(x) * design.mean[0].square()).clamp(min=0) / design.scale**2
