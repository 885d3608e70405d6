r"""Scales of the parts of a representation, learned by leave-one-out kernel regression.

A representation is put together from parts :math:`Z_1..Z_k` (n × d each), side by side. Their scales decide how much
each counts in a distance: with :math:`D_j` the squared distances of the rows of :math:`Z_j`,

.. math:: K = \exp\Bigl(-\sum_j s_j^2 D_j\Bigr).

Distances of parts add up, so the kernel of every choice of scales comes from k matrices that are computed once. So do
inner products, for the linear kernel :math:`K = \sum_j s_j^2 Z_jZ_j^\top`. The Gaussian kernel asks which rows are
close, as a learner with few labels does; the linear one asks what a linear model can read off, as a probe does.

The scales, and the strength τ of the ridge, maximise the score of :func:`score_of_shares`: how much of several targets
the representation explains. There are about ten numbers to learn from hundreds of rows, so they do not overfit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor

#: Bounds of log s and log τ. Below the lowest scale a part has no influence; above the highest, no rows are near.
LOG_SCALES = (-4.5, 1.5)
LOG_STRENGTHS = {"gaussian": (math.log(1e-4), 0.0), "linear": (math.log(1e-4), math.log(3.0))}
#: Where the search begins: all parts alike, with a total squared distance of 1 on average, and this τ.
START_STRENGTH = 1e-2
#: Iterations of the search. More change the scales, but hardly the score.
ITERATIONS = 20
#: A share is added to this before its logarithm is taken: differences far below it do not count.
FLOOR = 0.1
#: A share below zero counts as zero, smoothly within about 1 / SHARPNESS.
SHARPNESS = 200.0

Kernel = Literal["gaussian", "linear"]


@dataclass(frozen=True)
class LearnedScales:
    """The result of :func:`learn_scales`."""

    scales: tuple[float, ...]
    """s, one for each part; the largest is 1."""
    shares: tuple[float, ...]
    """The explained share of each target."""
    stderrs: tuple[float, ...]
    """The standard error of each share, over draws of the rows."""
    score: float
    """The score of the shares."""


def score_of_shares(shares: Sequence[float], weights: Sequence[float], floor: float = FLOOR) -> float:
    r"""One number from the explained shares of several targets: :math:`\sum_t w_t \log(c + \text{share}_t)`, c = 10 %.

    The weights are scaled to a sum of 1. By the logarithm, targets of which much and of which little can be explained
    count alike: what matters is by which *factor* a share grows. Below c nothing matters: a target that nothing
    explains has no say.
    """
    total = sum(weights)
    return sum(w / total * math.log(floor + _positive(share)[0]) for share, w in zip(shares, weights, strict=True))


def learn_scales(
    parts: Sequence[Tensor],
    targets: Sequence[Tensor],
    weights: Sequence[float],
    block: int = 300,
    kernel: Kernel = "gaussian",
    floor: float = FLOOR,
) -> LearnedScales:
    """The scales at which the parts together explain the targets best.

    Rows are divided into blocks, and within each the others explain one. A block is as large as a typical set of
    labelled nodes: from many rows also a noisy representation explains much, from few only a good one.

    Args:
        parts: for each part its rows, m × d. They are scaled here to a mean squared distance of 1.
        targets: m × c each.
        weights: how much each target counts.
        block: rows in a block, about.
        kernel: of distances, or of inner products.
        floor: c of the score.
    """
    count = max(len(parts[0]) // block, 1)  # b
    size = len(parts[0]) // count  # of a block; the rows that are left over are not used
    unit = _unit_distances if kernel == "gaussian" else _unit_products
    # A Gaussian kernel has entries up to 1. A linear one grows with the scales: in float32 its inverse is rounding.
    dtype = torch.float32 if kernel == "gaussian" else torch.float64
    parts, targets = [part.to(dtype) for part in parts], [target.to(dtype) for target in targets]
    pairs = torch.stack([unit(_blocks(part, count, size)) for part in parts])  # k × b × size × size
    k = len(parts)
    flat = pairs.view(k, -1)
    units = [_unit_spread(_blocks(target, count, size)) for target in targets]
    evaluated: dict[bytes, tuple[tuple[float, ...], tuple[float, ...]]] = {}

    def negative_score(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        squares = torch.from_numpy(np.exp(2 * parameters[:-1])).to(flat.dtype)
        matrix = _kernel_matrix((squares @ flat).view(pairs.shape[1:]), kernel)
        strength = math.exp(parameters[-1])
        shares, stderrs, gradient = _shares_and_gradient(matrix, strength, units, weights, floor)
        evaluated[parameters.tobytes()] = shares, stderrs
        by_strength = float(gradient.diagonal(dim1=1, dim2=2).sum()) * size * strength
        if kernel == "gaussian":
            gradient.mul_(matrix).neg_()
        by_scales = 2 * squares * (flat @ gradient.view(-1))
        return -score_of_shares(shares, weights, floor), -np.append(by_scales.double().numpy(), by_strength)

    start = np.append(np.full(k, -0.5 * math.log(k)), math.log(START_STRENGTH))
    result = minimize(
        negative_score,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[LOG_SCALES] * k + [LOG_STRENGTHS[kernel]],
        options={"maxiter": ITERATIONS},
    )
    scales = np.exp(result.x[:-1])
    return LearnedScales(tuple((scales / scales.max()).tolist()), *evaluated[result.x.tobytes()], -float(result.fun))


def learn_by_both_kernels(
    parts: Sequence[Tensor], targets: Sequence[Tensor], weights: Sequence[float], block: int = 300
) -> LearnedScales:
    """The scales by the Gaussian and by the linear kernel, on average; shares and score are those of the better one."""
    both = [learn_scales(parts, targets, weights, block, kernel) for kernel in get_args(Kernel)]
    mean = [sum(pair) / len(both) for pair in zip(*(one.scales for one in both), strict=True)]
    best = max(both, key=lambda one: one.score)
    return replace(best, scales=tuple(scale / max(mean) for scale in mean))


def _shares_and_gradient(
    kernel: Tensor, strength: float, targets: Sequence[Tensor], weights: Sequence[float], floor: float = FLOOR
) -> tuple[tuple[float, ...], tuple[float, ...], Tensor]:
    r"""The explained share of each target, its standard error, and the score's gradient in the kernels (b × m × m).

    With :math:`G = (K + m\tau I)^{-1}` and :math:`A = GY`, leave-one-out residuals are :math:`R_i = A_i / G_{ii}`, and
    a target with a total spread of 1 has the share :math:`1 - \|R\|^2`. If :math:`c_t` is the derivative of the score
    in :math:`\|R_t\|^2`, then with :math:`B = A c / \mathrm{diag}(G)^2` and :math:`v_i = \sum c A_i^2 / G_{ii}^3`

    .. math:: \partial S/\partial K = 2\,G\,\mathrm{diag}(v)\,G - 2\,(GB)\,A^\top .
    """
    regularized = kernel.clone()
    regularized.diagonal(dim1=1, dim2=2).add_(kernel.shape[1] * strength)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(regularized))
    diagonal = inverse.diagonal(dim1=1, dim2=2).unsqueeze(2)
    fits = inverse @ torch.cat(list(targets), 2)
    shares, stderrs, factors = [], [], []
    total = sum(weights)
    residuals = (fits / diagonal).split([y.shape[2] for y in targets], 2)
    for residual, target, weight in zip(residuals, targets, weights, strict=True):
        errors = residual.square().sum(2)
        share = 1 - float(errors.sum())
        # A share is a ratio of two sums over rows; to first order, each row contributes this to its error.
        stderrs.append(float((errors - (1 - share) * target.square().sum(2)).norm()))
        positive, slope = _positive(share)
        shares.append(share)
        factors.append(torch.full((residual.shape[2],), -weight / total * slope / (floor + positive)))
    factor = torch.cat(factors).to(fits)
    by_diagonal = (fits.square() @ factor).unsqueeze(2) / diagonal.pow(3)
    gradient = (inverse * by_diagonal.mT) @ inverse
    gradient.baddbmm_(inverse @ (fits * factor / diagonal.square()), fits.mT, alpha=-1)
    return tuple(shares), tuple(stderrs), gradient.mul_(2)


def _positive(share: float) -> tuple[float, float]:
    """A smooth version of max(share, 0), and its derivative."""
    scaled = SHARPNESS * share
    return float(np.logaddexp(0.0, scaled)) / SHARPNESS, float(1 / (1 + math.exp(-min(max(scaled, -700.0), 700.0))))


def _blocks(rows: Tensor, count: int, size: int) -> Tensor:
    """The first rows in blocks: count × size × d."""
    return rows[: count * size].view(count, size, -1)


def _unit_distances(part: Tensor) -> Tensor:
    """Squared distances between the rows of each block, divided by their mean; zeros if all rows are equal."""
    part = part - part.mean((0, 1))
    norms = part.square().sum(2)
    distances = torch.baddbmm(norms.unsqueeze(2) + norms.unsqueeze(1), part, part.mT, alpha=-2).clamp_(min=0)
    distances.diagonal(dim1=1, dim2=2).zero_()
    return distances / distances.mean().clamp(min=torch.finfo(part.dtype).tiny)


def _kernel_matrix(total: Tensor, kernel: Kernel) -> Tensor:
    """The kernel from the scaled sum of distances or of inner products.

    The linear one has a constant, as an intercept. Without it, centred rows have no component along the vector of ones:
    with a small τ the inverse would be large there, and leave-one-out residuals, which are divided by its diagonal,
    would vanish for any target.
    """
    return torch.exp(-total) if kernel == "gaussian" else total + 1


def _unit_products(part: Tensor) -> Tensor:
    """Inner products of the centred rows of each block, divided by the mean squared length."""
    part = part - part.mean(1, keepdim=True)
    products = part @ part.mT
    return products / products.diagonal(dim1=1, dim2=2).mean().clamp(min=torch.finfo(part.dtype).tiny)


def _unit_spread(target: Tensor) -> Tensor:
    """Each block centred, with a total sum of squares of 1."""
    centered = target - target.mean(1, keepdim=True)
    return centered / centered.norm().clamp(min=torch.finfo(target.dtype).tiny)
