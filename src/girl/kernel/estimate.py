r"""An estimate of ρ(Y|X) for people: what is the distance of Y from the functions of X, and how sure is that?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
import scipy.special
import scipy.stats
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from girl.kernel.checks import all_equal, check_finite, check_samples, check_spread, check_target
from girl.kernel.features import nystrom_map
from girl.kernel.norm import SATURATED
from girl.kernel.rows import Rows

#: Kernel widths tried, relative to the mean squared distance.
WIDTHS = (1 / 64, 1 / 8, 1.0, 8.0)

#: Ridge strengths tried, relative to the largest eigenvalue.
STRENGTHS = tuple(10.0**power for power in range(-11, 2))

#: Landmarks of the Gaussian candidates.
RANK = 128

#: More rows than this are thinned to a random sample: its standard error is far below that of the question asked.
MOST_ROWS = 20_000


@dataclass(frozen=True)
class Estimate:
    """What :func:`estimate` returns."""

    rho: float
    """The estimate of ρ(Y|X): the mean over the columns of Y."""
    stderr: float
    """Its standard error over draws of the rows, to first order."""
    columns: tuple[float, ...]
    """The estimate for each column of Y."""
    spread: tuple[float, ...]
    """The standard deviation of each column of Y: what ρ would be if X said nothing."""
    rows: int
    """How many rows it was computed from."""

    @property
    def explained(self) -> float:
        """The share of Y's variance that X explains, 1 - ρ²/Var(Y), over all columns: between 0 and 1."""
        total = sum(s * s for s in self.spread)
        left = sum(r * r for r in self.columns)
        return max(0.0, 1.0 - left / total) if total > 0 else 0.0


def rho(x: ArrayLike | Tensor, y: ArrayLike | Tensor | scipy.sparse.spmatrix, *, seed: int = 0) -> float:
    r"""Estimate :math:`\rho(Y|X)`: the root mean square of Y - E[Y|X], averaged over the columns of Y.

    Zero means that Y is a function of X; the standard deviation of Y means that X says nothing about it.

    This is an estimator to read, where :class:`KRLoss` is a loss to train with. Two biases have to be removed. An
    in-sample residual is too small, for part of the noise was fitted; a leave-one-out residual is too large, for it
    carries the variance of the fit as well. With a linear smoother H the degrees of freedom tell the one from the
    other: if Y is a function of X plus noise of variance :math:`\rho^2`, then
    :math:`\mathbb{E}\|(I-H)Y\|^2 = \rho^2\,\mathrm{tr}\,(I-H)^\top(I-H)` + (bias of the fit)², hence

    .. math:: \hat\rho^2 = \frac{\|(I-H)Y\|^2}{n - 2\,\mathrm{tr}H + \mathrm{tr}H^\top H}.

    H itself is chosen for each column of Y, by leave-one-out, among ridge fits with an intercept: linear ones and
    Gaussian kernels of four widths, each at thirteen strengths, on X as it is (standardised) and on its normal scores.
    Those map each column of X monotonically onto a Gaussian, which changes :math:`\rho(Y|X)` in no way, as it is a
    homeomorphism, but makes heavy tails and cusps easy to fit.

    Args:
        x: n x d (or n, for one column): array, tensor or anything numpy reads.
        y: n x m (or n): likewise, or a scipy sparse matrix or CSR tensor.
        seed: fixes the rows that serve as landmarks, and the sample if there are more than 20,000 rows.

    Returns:
        The estimate. :func:`girl.kernel.estimate.estimate` also gives its standard error and the columns.

    Example:
        >>> import numpy as np, girl
        >>> x = np.random.default_rng(0).normal(size=1000)
        >>> round(girl.rho(x, x**2), 1), round(girl.rho(x**2, x), 1)
        (0.0, 1.0)
    """
    return estimate(x, y, seed=seed).rho


def estimate(x: ArrayLike | Tensor, y: ArrayLike | Tensor | scipy.sparse.spmatrix, *, seed: int = 0) -> Estimate:
    """:func:`rho` with its standard error and the estimates of the single columns."""
    samples = check_samples(_matrix(x))
    target = check_target(_matrix(y), samples, 0)
    check_finite(samples, (target,))
    check_spread(len(samples), all_equal(samples))
    generator = torch.Generator().manual_seed(seed)
    if len(samples) > MOST_ROWS:
        keep = torch.randperm(len(samples), generator=generator)[:MOST_ROWS]
        samples, target = samples[keep], target[keep]
    n = len(target)
    mean = target.mean(0)
    centered = target - mean
    best = torch.full_like(mean, math.inf)  # leave-one-out error of the chosen fit, for each column
    residual = centered.clone()
    freedom = torch.full_like(mean, n - 1.0)  # tr (I-H)ᵀ(I-H)
    for basis, eigenvalues in _candidates(samples, generator):
        coordinate = basis.T @ centered  # r × m
        for strength in STRENGTHS:
            keep = eigenvalues / (eigenvalues + strength * eigenvalues[-1])
            left = centered - basis @ (keep.unsqueeze(1) * coordinate)
            own = basis.square() @ keep + 1 / n  # H_ii: the fit's and the intercept's
            if float(own.max()) > 1 - SATURATED:
                continue  # a row that is interpolated says nothing of the others: smooth more
            error = (left / (1 - own).unsqueeze(1)).square().mean(0)
            better = error < best
            if not bool(better.any()):
                continue
            best = torch.where(better, error, best)
            residual[:, better] = left[:, better]
            freedom[better] = n - 1 - (2 * keep - keep.square()).sum()
    corrected = residual.square() * (n / freedom)
    columns = corrected.mean(0).sqrt()
    # ρ̂ is a mean over rows up to its root; each row's share in it, to first order, gives the standard error.
    slope = torch.where(columns > 0, 0.5 / columns, 0.0)
    share = ((corrected - columns.square()) * slope).mean(1)
    return Estimate(
        rho=float(columns.mean()),
        stderr=float(share.std() / math.sqrt(n)),
        columns=tuple(columns.tolist()),
        spread=tuple(target.std(0, correction=0).tolist()),
        rows=n,
    )


def _candidates(x: Tensor, generator: torch.Generator) -> Iterator[tuple[Tensor, Tensor]]:
    """Orthonormal bases (n x r), orthogonal to the constants, with ascending eigenvalues (r): one for each kernel."""
    standard = x - x.mean(0)
    standard = standard / standard.square().mean(0).sqrt().clamp(min=torch.finfo(x.dtype).tiny)
    varies = (x != x[0]).any(0)
    for columns in (standard[:, varies], _normal_scores(x[:, varies])):
        yield _eigenbasis(columns if columns.shape[1] <= len(x) else _rotated(columns))
        mean_square = columns.square().sum(1).mean() * 2
        for width in WIDTHS:
            rank = min(RANK, len(x))
            # In float64 and without a gradient, landmarks may nearly coincide: no jitter to speak of.
            features = nystrom_map(
                Rows(columns), mean_square * width, rank, "uniform", columns.dtype, generator, jitter=1e-10
            )
            yield _eigenbasis(features(columns))


def _eigenbasis(features: Tensor) -> tuple[Tensor, Tensor]:
    centered = features - features.mean(0)
    eigenvalues, vectors = torch.linalg.eigh(centered.T @ centered)
    sound = eigenvalues > 1e-12 * eigenvalues[-1]  # below, directions are rounding
    eigenvalues, vectors = eigenvalues[sound], vectors[:, sound]
    return centered @ (vectors / eigenvalues.sqrt()), eigenvalues


def _rotated(columns: Tensor) -> Tensor:
    """More columns than rows, turned into as many as there are rows, with the same inner products."""
    eigenvalues, vectors = torch.linalg.eigh(columns @ columns.T)
    return vectors * eigenvalues.clamp(min=0).sqrt()


def _normal_scores(x: Tensor) -> Tensor:
    """Each column mapped monotonically to the quantiles of a Gaussian; equal values stay equal."""
    ranks = scipy.stats.rankdata(x.numpy(), axis=0)
    scores: Any = scipy.special.ndtri((ranks - 0.5) / len(x))
    return torch.from_numpy(scores)


def _matrix(given: Any) -> Tensor:
    """Whatever was given as a float64 matrix with a column axis."""
    if isinstance(given, Tensor):
        dense = given.detach().to("cpu")
        matrix = (dense if dense.layout == torch.strided else dense.to_dense()).to(torch.float64)
    elif scipy.sparse.issparse(given):
        matrix = torch.from_numpy(np.asarray(given.toarray(), dtype=np.float64))
    else:
        matrix = torch.from_numpy(np.array(given, dtype=np.float64))
    return matrix.unsqueeze(1) if matrix.dim() == 1 else matrix
