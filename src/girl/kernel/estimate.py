r"""An estimate of ρ(Y|X) to read, with its standard error."""

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

from girl.kernel.checks import all_rows_equal, check_finite, check_rows_differ, check_samples, check_target
from girl.kernel.chunks import ChunkedRows
from girl.kernel.features import nystrom_map
from girl.kernel.residuals import INTERPOLATED

#: Values of 2σ² that are tried, relative to the mean squared distance.
WIDTHS = (1 / 64, 1 / 8, 1.0, 8.0)
#: Ridge penalties that are tried, relative to the largest eigenvalue.
STRENGTHS = tuple(10.0**power for power in range(-11, 2))
#: Landmarks of the Gaussian candidates.
RANK = 128
#: Of more rows than this a random sample is used; its standard error is far below what the question needs.
MAX_ROWS = 20_000


@dataclass(frozen=True)
class RhoEstimate:
    """The result of :func:`estimate_rho`."""

    rho: float  #: the estimate of ρ(Y|X), the mean over the columns of Y
    stderr: float  #: its standard error over draws of the rows, to first order
    columns: tuple[float, ...]  #: the estimate for each column of Y
    std: tuple[float, ...]  #: the standard deviation of each column of Y: the value of ρ if X tells nothing about it
    rows: int  #: the number of rows used

    @property
    def explained_variance(self) -> float:
        """The fraction of Y's variance that X explains, 1 - ρ²/Var(Y) over all columns, between 0 and 1."""
        variance = sum(s * s for s in self.std)
        return max(0.0, 1.0 - sum(r * r for r in self.columns) / variance) if variance > 0 else 0.0


def rho(x: ArrayLike | Tensor, y: ArrayLike | Tensor | scipy.sparse.spmatrix, *, random_state: int = 0) -> float:
    r"""Estimate :math:`\rho(Y|X)`: the root mean square of Y - E[Y|X], averaged over the columns of Y.

    Zero means that Y is a function of X; the standard deviation of Y means that X tells nothing about it. This is the
    paper's ρ for the :math:`L_2` norm, whose infimum over functions of X is reached by E[Y|X].

    The estimator removes two biases. An in-sample residual is too small, because part of the noise was fitted; a
    leave-one-out residual is too large, because it contains the variance of the fit. If Y is a function of X plus noise
    of variance :math:`\rho^2`, a linear smoother H has :math:`\mathbb{E}\|(I-H)Y\|^2 =
    \rho^2\,\mathrm{tr}\,(I-H)^\top(I-H)` + (bias of the fit)², hence

    .. math:: \hat\rho^2 = \frac{\|(I-H)Y\|^2}{n - 2\,\mathrm{tr}H + \mathrm{tr}H^\top H}.

    H is chosen for each column of Y, by leave-one-out, among ridge fits with an intercept: linear ones and Gaussian
    kernels of four widths, each at thirteen strengths, on X (standardised) and on its normal scores. Normal scores map
    each column of X monotonically onto a Gaussian. This homeomorphism leaves :math:`\rho(Y|X)` as it is, but makes
    heavy tails and cusps easy to fit.

    Args:
        x: n x d (or n, for one column): an array, a tensor or anything numpy reads.
        y: n x m (or n): likewise, or a scipy sparse matrix or CSR tensor.
        random_state: the seed of the choice of landmarks, and of the sample if there are more than 20,000 rows.

    Example:
        >>> import numpy as np, girl
        >>> x = np.random.default_rng(0).normal(size=1000)
        >>> round(girl.rho(x, x**2), 1), round(girl.rho(x**2, x), 1)
        (0.0, 1.0)

    See Also:
        :class:`girl.KRLoss`: a loss to train with.
    """
    return estimate_rho(x, y, random_state=random_state).rho


def estimate_rho(
    x: ArrayLike | Tensor, y: ArrayLike | Tensor | scipy.sparse.spmatrix, *, random_state: int = 0
) -> RhoEstimate:
    """:func:`rho` with its standard error and the estimate of each column."""
    samples = check_samples(_to_matrix(x))
    target = check_target(_to_matrix(y), samples, 0)
    check_finite(samples, (target,))
    check_rows_differ(len(samples), all_rows_equal(samples))
    generator = torch.Generator().manual_seed(random_state)
    if len(samples) > MAX_ROWS:
        sample = torch.randperm(len(samples), generator=generator)[:MAX_ROWS]
        samples, target = samples[sample], target[sample]
    n = len(target)
    centered = target - target.mean(0)
    best_error = torch.full_like(centered[0], math.inf)  # leave-one-out error of the best fit so far, by column
    best_residual = centered.clone()
    freedom = torch.full_like(centered[0], n - 1.0)  # tr (I-H)ᵀ(I-H)
    for basis, eigenvalues in _candidates(samples, generator):
        coordinates = basis.T @ centered  # r × m
        for strength in STRENGTHS:
            shrinkage = eigenvalues / (eigenvalues + strength * eigenvalues[-1])
            residual = centered - basis @ (shrinkage.unsqueeze(1) * coordinates)
            leverage = basis.square() @ shrinkage + 1 / n  # H_ii, with the intercept's part
            if float(leverage.max()) > 1 - INTERPOLATED:
                continue  # an interpolated row has no leave-one-out error; only stronger smoothing can help
            error = (residual / (1 - leverage).unsqueeze(1)).square().mean(0)
            better = error < best_error
            best_error = torch.where(better, error, best_error)
            best_residual[:, better] = residual[:, better]
            freedom[better] = n - 1 - (2 * shrinkage - shrinkage.square()).sum()
    squares = best_residual.square() * (n / freedom)
    columns = squares.mean(0).sqrt()
    # Up to the root, ρ̂ is a mean over rows. Each row's contribution to it, to first order, gives the standard error.
    slope = torch.where(columns > 0, 0.5 / columns, 0.0)
    contribution = ((squares - columns.square()) * slope).mean(1)
    return RhoEstimate(
        rho=float(columns.mean()),
        stderr=float(contribution.std() / math.sqrt(n)),
        columns=tuple(columns.tolist()),
        std=tuple(target.std(0, correction=0).tolist()),
        rows=n,
    )


def _candidates(x: Tensor, generator: torch.Generator) -> Iterator[tuple[Tensor, Tensor]]:
    """For each kernel an orthonormal basis (n x r), orthogonal to constants, with its ascending eigenvalues (r)."""
    standard = x - x.mean(0)
    standard = standard / standard.square().mean(0).sqrt().clamp(min=torch.finfo(x.dtype).tiny)
    varies = (x != x[0]).any(0)
    for columns in (standard[:, varies], _normal_scores(x[:, varies])):
        yield _eigenbasis(columns if columns.shape[1] <= len(x) else _square(columns))
        rows, mean_square = ChunkedRows(columns), columns.square().sum(1).mean() * 2
        for width in WIDTHS:
            rank = min(RANK, len(x))
            # In float64 and without a gradient, landmarks may nearly coincide: the jitter can be tiny.
            features = nystrom_map(rows, mean_square * width, rank, "uniform", x.dtype, generator, jitter=1e-10)
            yield _eigenbasis(features(columns))


def _eigenbasis(features: Tensor) -> tuple[Tensor, Tensor]:
    centered = features - features.mean(0)
    eigenvalues, vectors = torch.linalg.eigh(centered.T @ centered)
    valid = eigenvalues > 1e-12 * eigenvalues[-1]  # directions below are rounding
    eigenvalues, vectors = eigenvalues[valid], vectors[:, valid]
    return centered @ (vectors / eigenvalues.sqrt()), eigenvalues


def _square(columns: Tensor) -> Tensor:
    """An n x n matrix with the same inner products of rows as ``columns`` (n x d), for d > n."""
    eigenvalues, vectors = torch.linalg.eigh(columns @ columns.T)
    return vectors * eigenvalues.clamp(min=0).sqrt()


def _normal_scores(x: Tensor) -> Tensor:
    """Each column mapped monotonically to the quantiles of a Gaussian; equal values stay equal."""
    ranks = scipy.stats.rankdata(x.numpy(), axis=0)
    scores: Any = scipy.special.ndtri((ranks - 0.5) / len(x))
    return torch.from_numpy(scores)


def _to_matrix(values: Any) -> Tensor:
    """A float64 matrix on the CPU; a vector becomes one column."""
    if isinstance(values, Tensor):
        matrix = values.detach().to("cpu").to_dense().to(torch.float64)
    else:
        dense = values.toarray() if scipy.sparse.issparse(values) else values
        matrix = torch.from_numpy(np.array(dense, dtype=np.float64))
    return matrix.unsqueeze(1) if matrix.dim() == 1 else matrix
