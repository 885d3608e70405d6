r"""Logistic regression at many strengths: a warm path, in coordinates where the problem is nearly round.

For classes (softmax) or independent yes-or-no labels (one sigmoid each) it minimises what scikit-learn minimises,

.. math::

    C\sum_i \ell(y_i, W^\top\tilde x_i + b) + \tfrac12\lVert W\rVert^2,

with b free. Two facts make the whole grid of C cost a few ordinary fits:

- an L2 penalty does not change under rotations, and W lies in the span of the training rows. So the problem is solved
  in the principal axes of :math:`\tilde X`, min(n, d) of them, and turned back at the end: exact, and a raw bag of
  words with 140 training rows is a problem in 139 unknowns per class;
- in these axes the Hessian is almost diagonal, :math:`C h_c s_j^2 + 1` for class c and axis j with :math:`h_c` the mean
  of p(1-p), so that L-BFGS in variables divided by its root needs tens of steps where raw columns need hundreds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor

from girl.evaluation.design_matrix import Design
from girl.threads import one_blas_thread, one_thread

#: Up to this many rows or columns the principal axes are found; above, the cube of it would cost more than it saves.
ROTATE = 2048

#: Axes with less than this share of the largest variance are noise of the arithmetic.
NEGLIGIBLE = 1e-12

#: Up to this many entries float64 costs nothing that is felt, and one thread is enough.
SMALL = 500_000

#: The steps end when no entry of the whitened gradient of the mean loss is larger than the first number, or when the
#: loss falls by a smaller share than the second. Float32 is rough at its seventh digit: to ask for more is to search
#: forever.
TOLERANCE = {torch.float64: (3e-7, 1e-14), torch.float32: (1e-4, 1e-7)}


@dataclass(frozen=True)
class Linear:
    """A fitted model: logits are ``x @ weight + bias``, for x as it was given."""

    strength: float
    weight: Tensor
    bias: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        return x @ self.weight.to(x.dtype) + self.bias.to(x.dtype)


def logistic_path(x: Tensor, y: Tensor, strengths: Sequence[float]) -> Iterator[Linear]:
    r"""Logistic regressions of y on x for rising C, each started from the one before.

    Args:
        x: training rows n × d, dense or CSR; standardised inside.
        y: classes 0..k-1, each present (n, whole numbers), or yes-or-no labels, each present and absent somewhere
            (n × k, floating).
        strengths: C, rising: weaker and weaker penalties.
    """
    design = Design(x)
    axes = _Axes(design)
    _, width = axes.shape
    k = y.shape[1] if y.dim() == 2 else int(y.max()) + 1
    multilabel = y.dim() == 2
    # From here on classes come first: weights k × width, logits k × n.
    onehot = (y.T if multilabel else torch.nn.functional.one_hot(y, k).T).to(axes.dtype).contiguous()
    weight, bias = torch.zeros(k, width, dtype=axes.dtype), _log_odds(onehot, multilabel)
    for strength in strengths:
        weight, bias = _Problem(axes, onehot, multilabel, strength, weight, bias).solve()
        across = axes.back(weight).to(x.dtype) / design.scale  # k × d
        yield Linear(strength, across.T, bias[:, 0].to(x.dtype) - across @ design.mean[0])


class _Axes:
    r"""The training rows in their principal axes: :math:`\tilde X V = U S`, or as they are if there are too many."""

    def __init__(self, design: Design) -> None:
        n, d = design.shape
        self._design = design
        self._rotation: Tensor | None = None
        if min(n, d) > ROTATE:
            self.shape = (n, d)
            self.dtype = design.x.dtype
            self.energy = _column_energy(design)
            return
        energy, axes = torch.linalg.eigh(design.gram())
        kept = energy > NEGLIGIBLE * energy[-1].clamp(min=1e-30)
        self.shape = (n, int(kept.sum()))
        self.dtype = torch.float64 if n * self.shape[1] <= SMALL else torch.float32
        self.energy = energy[kept].to(self.dtype)  # s², of each axis
        axes = axes[:, kept].T.to(self.dtype)  # r × min(n, d)
        root = self.energy.sqrt()[:, None]
        if n < d:  # the axes are Uᵀ: V = X̃ᵀ U / S is applied in two steps, and so never formed
            self._rows = (axes * root).T.contiguous()
            self._rotation = axes / root
        else:
            self._rows = design.times(axes.to(design.x.dtype)).T.to(self.dtype).contiguous()
            self._rotation = axes
        self._dual = n < d

    def times(self, w: Tensor) -> Tensor:
        return self._design.times(w) if self._rotation is None else w @ self._rows.T

    def turned(self, g: Tensor) -> Tensor:
        return self._design.turned(g) if self._rotation is None else g @ self._rows

    def back(self, w: Tensor) -> Tensor:
        """Weights of the axes as weights of the columns."""
        if self._rotation is None:
            return w
        across = w @ self._rotation
        return self._design.turned(across.to(self._design.x.dtype)) if self._dual else across


class _Problem:
    """The mean loss at one strength, in variables that make its Hessian about the identity where it starts."""

    def __init__(
        self, axes: _Axes, onehot: Tensor, multilabel: bool, strength: float, weight: Tensor, bias: Tensor
    ) -> None:
        self._axes = axes
        self._onehot = onehot
        self._multilabel = multilabel
        n = axes.shape[0]
        self._decay = 1 / (strength * n)
        chances, _ = self._chances(axes.times(weight) + bias)
        # The floor is for classes that are fitted all but perfectly: their curvature says nothing of the way ahead.
        curve = (chances * (1 - chances)).mean(1, keepdim=True).clamp(min=1e-4)  # k × 1
        self._root = torch.cat([(curve * axes.energy / n + self._decay).sqrt(), curve.sqrt()], 1)  # k × (r + 1)
        self._start = torch.cat([weight, bias], 1) * self._root

    def solve(self) -> tuple[Tensor, Tensor]:
        """Weights k × r and intercepts k × 1."""
        steepest, least = TOLERANCE[self._axes.dtype]
        small = self._axes.shape[0] * self._axes.shape[1] <= SMALL
        with one_thread() if small else one_blas_thread():
            found = minimize(
                self._value,
                self._start.double().numpy().ravel(),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": 500, "maxcor": 20, "gtol": steepest, "ftol": least},
            )
        return self._parts(found.x)

    def _value(self, theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weight, bias = self._parts(theta)
        n = self._axes.shape[0]
        logits = self._axes.times(weight).add_(bias)
        chances, fit = self._chances(logits)
        # The loss of float32 logits is summed in float64: its last digits steer the line search.
        fit -= float((logits * self._onehot).sum(dtype=torch.float64))
        value = fit / n + 0.5 * self._decay * float(weight.double().square().sum())
        surplus = chances.sub_(self._onehot)
        slope = (self._axes.turned(surplus) / n).add_(weight, alpha=self._decay)
        slope = torch.cat([slope, surplus.mean(1, keepdim=True)], 1).div_(self._root)
        return value, slope.double().numpy().ravel()

    def _chances(self, logits: Tensor) -> tuple[Tensor, float]:
        """Probabilities, and the sum of the logs of what normalises them."""
        if self._multilabel:
            return logits.sigmoid(), float(torch.nn.functional.softplus(logits).sum(dtype=torch.float64))
        top = logits.amax(0, keepdim=True)
        chances = (logits - top).exp_()
        total = chances.sum(0, keepdim=True)
        return chances.div_(total), float((total.log() + top).sum(dtype=torch.float64))

    def _parts(self, theta: NDArray[np.float64]) -> tuple[Tensor, Tensor]:
        both = torch.from_numpy(theta).to(self._axes.dtype).view(self._root.shape) / self._root
        return both[:, :-1], both[:, -1:]


def _column_energy(design: Design) -> Tensor:
    n = design.shape[0]
    if design.x.layout == torch.sparse_csr:
        sums = torch.zeros(design.shape[1], dtype=design.x.dtype)
        sums.index_add_(0, design.x.col_indices(), design.x.values().square())
    else:
        sums = design.x.square().sum(0)
    return (sums - n * design.mean[0].square()).clamp(min=0) / design.scale**2


def _log_odds(onehot: Tensor, multilabel: bool) -> Tensor:
    """Where the intercepts start, k × 1: at the shares of the classes, the solution for C → 0."""
    share = onehot.mean(1, keepdim=True)
    return torch.logit(share) if multilabel else share.log() - share.log().mean()
