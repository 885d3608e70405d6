r"""Features :math:`\Phi` (n x r) of the rows of x with :math:`K \approx \Phi\Phi^\top`, for the Gaussian kernel K.

A feature map is prepared once from all rows and then applied to any chunk of them. Each step is a
:class:`torch.autograd.Function` that saves only what its backward needs: the n x r intermediates that autograd would
save are most of the memory otherwise.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from girl.kernel.chunks import ChunkedRows
from girl.kernel.precision import wide_dtype

Features = Literal["auto", "exact", "nystrom", "fourier"]
Landmarks = Literal["uniform", "rpcholesky"]
FEATURES = ("auto", "exact", "nystrom", "fourier")
LANDMARKS = ("uniform", "rpcholesky")

#: Random frequencies (d x k) by the number of columns d, to be shared by several losses.
FrequencyCache = dict[int, Tensor]
#: Randomly pivoted Cholesky chooses each landmark among this many uniform candidates per landmark: O(r³) for any n.
CANDIDATES = 8
#: Added to the diagonal of the landmarks' kernel matrix. Landmarks that nearly coincide act like derivatives of the
#: kernel, in directions that float32 cannot resolve. With this jitter the backward amplifies float32's rounding to less
#: than one percent. float64 uses it too, so that both types give the same answer.
JITTER = 3e-4


@dataclass(frozen=True)
class FeatureMap:
    """A function from a chunk of rows to features, ``apply(rows, *tensors)``, differentiable in rows and tensors."""

    tensors: tuple[Tensor, ...]
    apply: Callable[..., Tensor]

    @property
    def dtype(self) -> torch.dtype:
        """The type of the features."""
        return self.tensors[0].dtype

    def __call__(self, rows: Tensor) -> Tensor:
        """Φ (n x r) of rows (n x d)."""
        return self.apply(rows, *self.tensors)


class _Rescale(torch.autograd.Function):
    r"""u = (x - center) * factor, the rows moved to the origin and divided by σ, in the type of the factor 1/σ.

    The centre has no gradient, because the kernel does not change under translation. Without centring, distances of
    rows far from the origin would lose all their digits in float32. Only u is saved: the factor's gradient is ⟨ū, u⟩σ.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, center: Tensor, factor: Tensor) -> Tensor:
        u = (x.to(factor.dtype) - center.to(factor.dtype)).mul_(factor)
        ctx.save_for_backward(u, factor)
        return u

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, None, Tensor | None]:
        u, factor = ctx.saved_tensors
        x_grad = grads[0] * factor if ctx.needs_input_grad[0] else None
        factor_grad = (grads[0] * u).sum() / factor if ctx.needs_input_grad[2] else None
        return x_grad, None, factor_grad


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
        u_grad = v_grad = None
        if ctx.needs_input_grad[0]:
            u_grad = (weight @ v).addcmul_(weight.sum(1, keepdim=True), u, value=-1)
        if ctx.needs_input_grad[1]:
            v_grad = (weight.T @ u).addcmul_(weight.sum(0).unsqueeze(1), v, value=-1)
        return u_grad, v_grad


_rescale: Callable[[Tensor, Tensor, Tensor], Tensor] = _Rescale.apply
_gaussian: Callable[[Tensor, Tensor], Tensor] = _Gaussian.apply


class _Fourier(torch.autograd.Function):
    r""":math:`[\cos(u\Omega), \sin(u\Omega)]/\sqrt k` (n x 2k), :math:`u = (x - c)f`, for frequencies Ω (d x k).

    The factor f multiplies the products :math:`x\Omega` (n x k), not the rows (n x d): in most layers k is less than d.
    Rows far from the origin are centred before the product, which would lose its digits otherwise.
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
        phase_grad = grads[0][:, count:] * features[:, :count]
        phase_grad.addcmul_(grads[0][:, :count], features[:, count:], value=-1)
        factor_grad = torch.linalg.vecdot(phase_grad, phase).sum() / factor if ctx.needs_input_grad[3] else None
        x_grad = phase_grad @ (frequencies.T * factor) if ctx.needs_input_grad[0] else None
        return x_grad, None, None, factor_grad, None


def _inverse_sigma(width: Tensor, dtype: torch.dtype) -> Tensor:
    return (2.0 / width.to(dtype)).sqrt()


def kernel_matrix(rows: ChunkedRows, width: Tensor) -> Tensor:
    r"""The full K (n x n) in float64 (:func:`~girl.kernel.precision.wide_dtype`); ``width`` is :math:`2\sigma^2`."""
    u = _rescale(rows.all(), rows.center, _inverse_sigma(width, wide_dtype(rows.x)))
    return _gaussian(u, u)


def nystrom_map(
    rows: ChunkedRows,
    width: Tensor,
    rank: int,
    landmarks: Landmarks,
    dtype: torch.dtype,
    generator: torch.Generator | None = None,
    jitter: float | None = None,
) -> FeatureMap:
    r"""Nyström features :math:`\Phi = K_{nL} L^{-\top}`, :math:`K_{LL} = LL^\top`, with ``rank`` rows as landmarks.

    :math:`\Phi\Phi^\top = K_{nL}K_{LL}^{-1}K_{Ln}` is exact on the landmarks, and everywhere if all rows are landmarks.
    :math:`K_{nL}` is multiplied by :math:`L^{-\top}` *before* any product over the n rows: products of :math:`K_{nL}`
    itself would square a condition number that float32 can only just handle. :data:`JITTER` keeps L finite where
    landmarks repeat; if every row is a landmark, in float64, almost none is needed.
    """
    rank = min(rank, rows.total)
    if landmarks == "uniform":
        chosen = _draw_rows(rows.total, rank, rows.x.device, generator)
    else:
        chosen = _pivoted_rows(rows, width.detach(), rank, generator)
    pivots = _rescale(rows.take(chosen), rows.center, _inverse_sigma(width, wide_dtype(rows.x)))  # r × d
    gram = _gaussian(pivots, pivots)
    if jitter is None:
        jitter = 1e-10 if rank == rows.total and dtype == torch.float64 else JITTER
    identity = torch.eye(len(chosen), dtype=gram.dtype, device=gram.device)
    lower = torch.linalg.cholesky(gram + jitter * identity)
    whiten = torch.linalg.solve_triangular(lower, identity, upper=False).T.to(dtype)  # r × r
    center = rows.center  # the closure must not keep `rows` alive

    def apply(chunk: Tensor, factor: Tensor, pivots: Tensor, whiten: Tensor) -> Tensor:
        return _gaussian(_rescale(chunk, center, factor), pivots) @ whiten

    return FeatureMap((_inverse_sigma(width, dtype), pivots.to(dtype), whiten), apply)


def _draw_rows(n: int, size: int, device: torch.device, generator: torch.Generator | None) -> Tensor:
    """``size`` of ``n`` row numbers without replacement, drawn on the generator's device."""
    source = generator.device if generator is not None else device
    return torch.randperm(n, generator=generator, device=source)[:size].to(device)


def _pivoted_rows(rows: ChunkedRows, width: Tensor, rank: int, generator: torch.Generator | None) -> Tensor:
    """Landmarks by randomly pivoted Cholesky: each is drawn in proportion to what the earlier ones leave unexplained.

    Chen, Epperly, Tropp, Webber, "Randomly pivoted Cholesky" (2022). Returns fewer than ``rank`` landmarks if they
    explain all candidates: more would only repeat them.
    """
    candidates = _draw_rows(rows.total, min(rows.total, CANDIDATES * rank), rows.x.device, generator)
    with torch.no_grad():
        u = _rescale(rows.take(candidates), rows.center, _inverse_sigma(width, wide_dtype(rows.x)))
    factor = u.new_zeros(len(candidates), rank)
    unexplained = u.new_ones(len(candidates))  # the diagonal of K minus its current approximation
    source = generator.device if generator is not None else u.device
    chosen: list[int] = []
    for step in range(rank):
        if float(unexplained.sum()) <= 1e-10 * len(candidates):
            break
        pivot = int(torch.multinomial(unexplained.to(source), 1, generator=generator))
        chosen.append(pivot)
        column = _gaussian(u, u[pivot : pivot + 1]).squeeze(1) - factor[:, :step] @ factor[pivot, :step]
        factor[:, step] = column / unexplained[pivot].sqrt()
        unexplained = (unexplained - factor[:, step].square()).clamp_(min=0)
        unexplained[pivot] = 0  # rounding must not let it be chosen twice
    return candidates[torch.tensor(chosen, device=candidates.device)]


def fourier_map(
    rows: ChunkedRows,
    width: Tensor,
    rank: int,
    dtype: torch.dtype,
    generator: torch.Generator | None = None,
    cache: FrequencyCache | None = None,
) -> FeatureMap:
    r"""Orthogonal random Fourier features :math:`[\cos u\Omega, \sin u\Omega]/\sqrt{r/2}` of the rescaled rows u.

    The columns of :math:`\Omega` come in orthogonal blocks with the lengths of Gaussian vectors. This is unbiased and
    has less variance than independent columns (Yu et al., "Orthogonal random features", 2016). Cosine and sine come in
    pairs, so that every row of :math:`\Phi` has norm one, as :math:`k(x,x)=1`, and a shift of x only rotates the pairs;
    an odd rank is rounded up. Frequencies in ``cache`` are used; new ones are stored there.
    """
    columns = rows.x.shape[1]
    cache = {} if cache is None else cache
    if columns not in cache:
        cache[columns] = orthogonal_frequencies(columns, math.ceil(rank / 2), generator, rows.x.device)
    frequencies = cache[columns].to(rows.x.device, dtype)
    center, far = rows.center.to(dtype), rows.far_from_origin

    def apply(chunk: Tensor, factor: Tensor) -> Tensor:
        return _Fourier.apply(chunk.to(dtype), center, far, factor, frequencies)

    return FeatureMap((_inverse_sigma(width, dtype),), apply)


def orthogonal_frequencies(
    dimension: int, count: int, generator: torch.Generator | None, device: torch.device
) -> Tensor:
    """Frequencies (d x k) of the Gaussian kernel with σ = 1, in blocks of up to d orthogonal columns."""
    source = generator.device if generator is not None else device
    blocks = []
    for start in range(0, count, dimension):
        size = min(dimension, count - start)
        direction, upper = torch.linalg.qr(torch.randn(dimension, size, generator=generator, device=source))
        # The signs make the directions uniform on the sphere, whichever sign convention the QR routine follows.
        direction = direction * upper.diagonal().sign()
        length = torch.randn(dimension, size, generator=generator, device=source).norm(dim=0)
        blocks.append(direction * length)
    return torch.cat(blocks, dim=1).to(device)
