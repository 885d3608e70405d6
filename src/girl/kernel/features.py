r"""Features :math:`\Phi` (n x r) of the rows of x with :math:`K \approx \Phi\Phi^\top`, for the Gaussian kernel K.

A feature map is prepared once from all rows and then applied to any chunk of them, so that a loss can stream over
rows. Each elementary step is an :class:`torch.autograd.Function` that keeps what its backward needs and nothing else:
the intermediate n x r matrices that autograd would save are the larger part of the memory otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from girl.kernel.bandwidth import draw_rows
from girl.kernel.precision import wide
from girl.kernel.rows import Rows

Features = Literal["auto", "exact", "nystrom", "fourier"]
Landmarks = Literal["uniform", "rpcholesky"]
FEATURES = ("auto", "exact", "nystrom", "fourier")
LANDMARKS = ("uniform", "rpcholesky")

#: Randomly pivoted Cholesky chooses among this many candidates per landmark, drawn uniformly: O(r³), whatever n is.
CANDIDATES = 8

#: Added to the diagonal of the landmarks' kernel matrix. Landmarks that nearly coincide act as derivatives of the
#: kernel and carry information in directions that float32 cannot resolve: at this level the way back amplifies its
#: rounding to less than one percent. Both types use it, so that both give the same answer.
JITTER = 3e-4


@dataclass(frozen=True)
class FeatureMap:
    """How a chunk of rows becomes features: ``apply(rows, *tensors)``, where gradients flow into the tensors too."""

    tensors: tuple[Tensor, ...]
    apply: Callable[..., Tensor]

    def __call__(self, rows: Tensor) -> Tensor:
        """Φ (n x r) of the given rows."""
        return self.apply(rows, *self.tensors)


class _Rescale(torch.autograd.Function):
    """(x - center) * factor, keeping its result only: the gradient of the factor is ⟨ū, u⟩/factor."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, center: Tensor, factor: Tensor) -> Tensor:
        u = (x - center).mul_(factor)
        ctx.save_for_backward(u, factor)
        return u

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, None, Tensor | None]:
        u, factor = ctx.saved_tensors
        into_x = grads[0] * factor if ctx.needs_input_grad[0] else None
        into_factor = (grads[0] * u).sum() / factor if ctx.needs_input_grad[2] else None
        return into_x, None, into_factor


def rescaled(x: Tensor, center: Tensor, factor: Tensor) -> Tensor:
    r"""Rows moved to the origin and divided by :math:`\sigma`, in the type of ``factor`` = :math:`1/\sigma`.

    The centre is a constant to autograd: the kernel does not change under translation, while distances of rows far
    from the origin would lose all their digits in float32.
    """
    return _Rescale.apply(x.to(factor.dtype), center.to(factor.dtype), factor)


class _Gaussian(torch.autograd.Function):
    r"""K (n x r) with :math:`K_{ij} = \exp(u_i^\top v_j - \|u_i\|^2/2 - \|v_j\|^2/2)` for rows u (n x d), v (r x d)."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, v: Tensor) -> Tensor:
        kernel = torch.addmm(u.square().sum(1, keepdim=True), u, v.T, beta=-0.5)
        kernel.sub_(v.square().sum(1), alpha=0.5).clamp_(max=0).exp_()  # rounding may leave a squared distance < 0
        ctx.save_for_backward(u, v, kernel)
        return kernel

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None]:
        u, v, kernel = ctx.saved_tensors
        weight = grads[0] * kernel  # n × r
        into_u = into_v = None
        if ctx.needs_input_grad[0]:
            into_u = (weight @ v).addcmul_(weight.sum(1, keepdim=True), u, value=-1)
        if ctx.needs_input_grad[1]:
            into_v = (weight.T @ u).addcmul_(weight.sum(0).unsqueeze(1), v, value=-1)
        return into_u, into_v


class _Fourier(torch.autograd.Function):
    r""":math:`[\cos(u\Omega), \sin(u\Omega)]/\sqrt k` (n x 2k), :math:`u = (x - c)f`, for frequencies Ω (d x k).

    The rows are not rescaled, their products with the frequencies are: those are n x k, and k is less than d in most
    layers. Rows that are far from the origin are moved there first, or the product would have lost its digits.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, center: Tensor, far: bool, factor: Tensor, frequencies: Tensor) -> Tensor:
        count = frequencies.shape[1]
        features = x.new_empty(x.shape[0], 2 * count)
        phase = (x - center) @ frequencies if far else x @ frequencies - center @ frequencies
        phase *= factor
        torch.cos(phase, out=features[:, :count])
        torch.sin(phase, out=features[:, count:])
        features *= count**-0.5
        ctx.save_for_backward(frequencies, features, phase, factor)
        return features

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, None, None, Tensor | None, None]:
        frequencies, features, phase, factor = ctx.saved_tensors
        count = frequencies.shape[1]
        into_phase = grads[0][:, count:] * features[:, :count]
        into_phase.addcmul_(grads[0][:, :count], features[:, count:], value=-1)
        into_factor = torch.linalg.vecdot(into_phase, phase).sum() / factor if ctx.needs_input_grad[3] else None
        into_x = into_phase @ (frequencies.T * factor) if ctx.needs_input_grad[0] else None
        return into_x, None, None, into_factor, None


def gaussian(u: Tensor, v: Tensor) -> Tensor:
    """The Gaussian kernel matrix (n x r) of rescaled rows ``u`` (n x d) and ``v`` (r x d), differentiable in both."""
    return _Gaussian.apply(u, v)


def _factor(width: Tensor, dtype: torch.dtype) -> Tensor:
    return (2.0 / width.to(dtype)).sqrt()


def kernel_matrix(rows: Rows, width: Tensor) -> Tensor:
    """The full K (n x n) in the wide type."""
    u = rescaled(rows.all(), rows.center, _factor(width, wide(rows.x)))
    return gaussian(u, u)


def nystrom_map(
    rows: Rows,
    width: Tensor,
    rank: int,
    landmarks: Landmarks,
    dtype: torch.dtype,
    generator: torch.Generator | None = None,
    jitter: float | None = None,
) -> FeatureMap:
    r"""Nyström features :math:`\Phi = K_{nL} L^{-\top}`, :math:`K_{LL} = LL^\top`, for ``rank`` rows as landmarks.

    :math:`\Phi\Phi^\top = K_{nL}K_{LL}^{-1}K_{Ln}` is exact on the landmarks, and everywhere once they are all rows.
    :math:`K_{nL}` is multiplied out *before* any product over the n rows: products of the bare :math:`K_{nL}` would
    square a condition number that float32 can only just carry. :data:`JITTER` keeps the factor finite where
    landmarks repeat; with every row a landmark, in the wide type, there is nothing to trade, and it is next to nothing.
    """
    rank = min(rank, rows.total)
    if landmarks == "uniform":
        chosen = draw_rows(rows.total, rank, rows.x.device, generator)
    else:
        chosen = _pivoted_rows(rows, width.detach(), rank, generator)
    pivot = rescaled(rows.take(chosen), rows.center, _factor(width, wide(rows.x)))  # r × d
    gram = gaussian(pivot, pivot)
    if jitter is None:
        jitter = 1e-10 if rank == rows.total and dtype == torch.float64 else JITTER
    identity = torch.eye(len(chosen), dtype=gram.dtype, device=gram.device)
    lower = torch.linalg.cholesky(gram + jitter * identity)
    whiten = torch.linalg.solve_triangular(lower, identity, upper=False).T.to(dtype)  # r × r
    center = rows.center  # not all of rows: the map must not keep what it was made from

    def apply(part: Tensor, factor: Tensor, pivot: Tensor, whiten: Tensor) -> Tensor:
        return gaussian(rescaled(part, center, factor), pivot) @ whiten

    return FeatureMap((_factor(width, dtype), pivot.to(dtype), whiten), apply)


def _pivoted_rows(rows: Rows, width: Tensor, rank: int, generator: torch.Generator | None) -> Tensor:
    """Landmarks by randomly pivoted Cholesky: each drawn in proportion to what the ones before leave unexplained.

    Chen, Epperly, Tropp, Webber, "Randomly pivoted Cholesky" (2022). Fewer than ``rank`` come back when the
    candidates are explained before: further landmarks would only repeat them.
    """
    candidates = draw_rows(rows.total, min(rows.total, CANDIDATES * rank), rows.x.device, generator)
    with torch.no_grad():
        u = rescaled(rows.take(candidates), rows.center, _factor(width, wide(rows.x)))
    factor = u.new_zeros(len(candidates), rank)
    left = u.new_ones(len(candidates))  # the diagonal of K minus its current approximation
    source = generator.device if generator is not None else u.device
    chosen: list[int] = []
    for step in range(rank):
        if float(left.sum()) <= 1e-10 * len(candidates):
            break
        at = int(torch.multinomial(left.to(source), 1, generator=generator))
        chosen.append(at)
        column = gaussian(u, u[at : at + 1]).squeeze(1) - factor[:, :step] @ factor[at, :step]
        factor[:, step] = column / left[at].sqrt()
        left = (left - factor[:, step].square()).clamp_(min=0)
        left[at] = 0  # never twice, whatever rounding leaves there
    return candidates[torch.tensor(chosen, device=candidates.device)]


#: Frequencies that were drawn, by the columns that they are for.
Drawn = dict[int, Tensor]


def fourier_map(
    rows: Rows,
    width: Tensor,
    rank: int,
    dtype: torch.dtype,
    generator: torch.Generator | None = None,
    drawn: Drawn | None = None,
) -> FeatureMap:
    r"""Orthogonal random Fourier features: :math:`[\cos u\Omega, \sin u\Omega]/\sqrt{r/2}`, u the rescaled rows.

    The columns of :math:`\Omega` come in orthogonal blocks with the lengths of Gaussian vectors, which is unbiased and
    has less variance than independent columns (Yu et al., "Orthogonal random features", 2016). Cosine and sine come
    in pairs, so that every row of :math:`\Phi` has length one, as every point has :math:`k(x,x)=1`, and a shift of x
    only rotates the pairs; an odd rank is rounded up. Frequencies are taken from ``drawn``, or drawn and left there.
    """
    columns = rows.x.shape[1]
    drawn = {} if drawn is None else drawn
    if columns not in drawn:
        drawn[columns] = orthogonal_frequencies(columns, math.ceil(rank / 2), generator, rows.x.device)
    frequencies = drawn[columns].to(rows.x.device, dtype)

    center, far = rows.center.to(dtype), rows.far

    def apply(part: Tensor, factor: Tensor) -> Tensor:
        return _Fourier.apply(part.to(dtype), center, far, factor, frequencies)

    return FeatureMap((_factor(width, dtype),), apply)


def orthogonal_frequencies(
    dimension: int, count: int, generator: torch.Generator | None, device: torch.device
) -> Tensor:
    """Frequencies (d x k) of the unit-width Gaussian kernel, in blocks of up to d orthogonal columns."""
    source = generator.device if generator is not None else device
    blocks = []
    for start in range(0, count, dimension):
        size = min(dimension, count - start)
        direction, upper = torch.linalg.qr(torch.randn(dimension, size, generator=generator, device=source))
        # The signs make the directions uniform on the sphere whatever convention the factorisation follows.
        direction = direction * upper.diagonal().sign()
        length = torch.randn(dimension, size, generator=generator, device=source).norm(dim=0)
        blocks.append(direction * length)
    return torch.cat(blocks, dim=1).to(device)
