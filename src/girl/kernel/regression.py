r"""ρ̂ by kernel regression, from the full kernel matrix (:func:`exact_rho`) or from features (:func:`lowrank_rho`)."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from girl.kernel import residuals
from girl.kernel.chunks import ChunkedRows, sum_over_chunks
from girl.kernel.features import FeatureMap, kernel_matrix
from girl.kernel.precision import wide_dtype
from girl.kernel.smoother import Ridge, Smoother
from girl.kernel.target import DenseTarget, MomentsTarget


def exact_rho(
    rows: ChunkedRows, targets: Sequence[Tensor], width: Tensor, smoother: Smoother, loo: bool, p: float, root: bool
) -> Tensor:
    r"""The sum over targets of ρ̂(Y|X), with R = EY, E = I - H (n x n), and :math:`R_i/E_{ii}` for leave-one-out.

    O(n³) time and O(n²) memory: for small n, and as the reference. ``width`` is :math:`2\sigma^2`.
    """
    residual_matrix = smoother.residual_matrix(kernel_matrix(rows, width))
    if loo:
        residual_matrix = residual_matrix * residuals.leave_one_out_factors(residual_matrix.diagonal()).unsqueeze(1)
    dtype = residual_matrix.dtype
    total = residual_matrix.new_zeros(())
    for y in targets:
        dense = (y.to_dense() if y.layout == torch.sparse_csr else y).to(dtype)
        scale = None if p == 2 else residuals.column_scale(residuals.largest_entries(dense))
        if scale is not None:
            dense = dense / scale
        sums = residuals.power_sums(residuals.without_rounding(residual_matrix @ dense, p), p)
        target_sums = residuals.power_sums(dense.detach(), p)
        total = total + residuals.mean_norm(sums, target_sums, len(rows), p, dtype, scale, root)
    return total


def lowrank_rho(
    rows: ChunkedRows,
    targets: Sequence[Tensor],
    features: FeatureMap,
    smoother: Smoother,
    loo: bool,
    p: float,
    root: bool,
) -> Tensor:
    r"""The sum over targets of ρ̂(Y|X), from features Φ (n x r) of the rows of X (n x d) that all targets share.

    O(nr(d + r + m)) time, no n x n and no n x m matrix. There are two passes over the rows. The first sums
    :math:`C = \Phi^\top\Phi` and :math:`\Phi^\top Y`, which give the core :math:`M = g(C)` and the fit
    :math:`B = M\Phi^\top Y` (r x m). The second sums the residuals: row i of :math:`Y - \Phi B`, divided for
    leave-one-out by :math:`1 - H_{ii} = 1 - \phi_i^\top M \phi_i`. Every result is a sum over rows, so chunks are
    exact, and so are sums over processes: each pass ends with one (:class:`~girl.kernel.distributed.Communicator`).

    A single chunk keeps its features for both passes and the backward. Several chunks compute them again each time,
    which costs arithmetic and saves memory. In-sample ridge residuals of a single chunk have a shorter backward.
    """
    communicator, single, dtype = rows.communicator, rows.num_chunks == 1, features.dtype
    plain = not loo and p == 2 and all(y.layout == torch.strided for y in targets)
    if isinstance(smoother, Ridge) and plain and single and communicator is None:
        return _insample_ridge_rho(rows, targets, features, smoother, root)
    prepared = [
        MomentsTarget(y, rows.chunk_size, dtype)
        if y.layout == torch.sparse_csr and p == 2
        else DenseTarget(y, p, rows.chunk_size, dtype, communicator)
        for y in targets
    ]
    sources = [rows, *(target.rows for target in prepared if target.rows is not None)]
    weighted = any(isinstance(target, MomentsTarget) for target in prepared)
    count = len(features.tensors)
    if single:
        phi = features(rows.all())
        single_chunks = [source.all() for source in sources[1:]]

    def summed(function: Callable[..., tuple[Tensor, ...]], *shared: Tensor) -> list[Tensor]:
        """Sums of ``function(index, Φ, chunks of the dense targets, *shared)`` over all chunks and processes."""

        def of_chunk(index: int, chunks: Sequence[Tensor], tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
            return function(index, features.apply(chunks[0], *tensors[:count]), chunks[1:], *tensors[count:])

        if single:
            sums = function(0, phi, single_chunks, *shared)
        else:
            sums = sum_over_chunks(of_chunk, sources, (*features.tensors, *shared))
        return list(sums if communicator is None else communicator.sum(*sums))

    def products(index: int, phi: Tensor, chunks: Sequence[Tensor]) -> tuple[Tensor, ...]:
        rest, gram = iter(chunks), residuals.gram(phi).to(wide_dtype(phi))
        return gram, *(target.project(index, None if target.rows is None else next(rest), phi) for target in prepared)

    def residual_sums(
        index: int, phi: Tensor, chunks: Sequence[Tensor], core: Tensor, *fits: Tensor
    ) -> tuple[Tensor, ...]:
        factors = residuals.leave_one_out_factors(1 - residuals.leverages(phi, core)) if loo else None
        sums: list[Tensor] = []
        if weighted:
            sums.append(residuals.gram(phi if factors is None else phi * factors.unsqueeze(1)).to(wide_dtype(phi)))
        rest = iter(chunks)
        for target, fit in zip(prepared, fits, strict=True):
            sums.extend(target.residual_sums(index, None if target.rows is None else next(rest), phi, fit, factors))
        return tuple(sums)

    gram_sum, *projected = summed(products)
    if communicator is not None:
        for target, sums in zip(prepared, communicator.all_reduce(*(target.sums for target in prepared)), strict=True):
            target.sums = sums
    core = smoother.core(gram_sum, rows.total).to(dtype)
    fits = [core @ product for product in projected]
    results = summed(residual_sums, core, *fits)
    weighted_gram = results.pop(0) if weighted else None
    total = gram_sum.new_zeros(())
    for target, fit in zip(prepared, fits, strict=True):
        total = total + target.rho(results[: target.num_sums], fit, weighted_gram, rows.total, root)
        del results[: target.num_sums]
    return total


def _insample_ridge_rho(
    rows: ChunkedRows, targets: Sequence[Tensor], features: FeatureMap, smoother: Ridge, root: bool
) -> Tensor:
    dtype = features.dtype
    y = torch.cat([y.to(dtype) for y in targets], dim=1) if len(targets) > 1 else targets[0].to(dtype)
    sums = residuals.ridge_residual_sums(y, features(rows.all()), smoother.penalty(rows.total)).to(wide_dtype(y))
    target_sums = residuals.power_sums(y.detach(), 2).to(wide_dtype(y))
    columns = [target.shape[1] for target in targets]
    pairs = zip(sums.split(columns), target_sums.split(columns), strict=True)
    return torch.stack([residuals.mean_norm(a, b, rows.total, 2.0, dtype, None, root) for a, b in pairs]).sum()
