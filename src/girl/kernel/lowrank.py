r"""ρ̂ from features Φ (n x r), streaming over chunks of rows: O(nr(d + r + m)) time, no n x n and no n x m matrix.

Two passes. The first sums :math:`C = \Phi^\top\Phi` and :math:`\Phi^\top Y`, which give the core :math:`M = g(C)` and
the fit :math:`B = M\Phi^\top Y` (r x m). The second sums the residuals: row i of :math:`Y - \Phi B`, divided for
leave-one-out by :math:`1 - H_{ii} = 1 - \phi_i^\top M \phi_i`. Every sum is over rows, so chunks are exact, and so is a
sum over processes: with :class:`~girl.kernel.distributed.Ranks` each pass ends with one.

One chunk keeps its features for both passes and for the way back; several compute them anew each time, which costs
arithmetic and saves memory. In-sample ridge residuals of one chunk are a single step, with a shorter way back.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from girl.kernel.features import FeatureMap
from girl.kernel.insample import ridge_sums
from girl.kernel.norm import inflation, mean_norm, power_sums
from girl.kernel.precision import wide
from girl.kernel.products import gram, own_weight
from girl.kernel.rows import Rows
from girl.kernel.smoother import Ridge, Smoother
from girl.kernel.stream import stream
from girl.kernel.target import MomentsTarget, Target, hold


def lowrank_rho(
    rows: Rows,
    targets: Sequence[Tensor],
    features: FeatureMap,
    smoother: Smoother,
    leave_one_out: bool,
    p: float,
    dtype: torch.dtype,
    root: bool = True,
) -> Tensor:
    """The sum over targets of ρ̂(Y|X), from rows of X (n x d) through a feature map that all targets share."""
    ranks = rows.ranks
    if isinstance(smoother, Ridge) and _is_one_step(rows, targets, leave_one_out, p):
        return _one_step(rows, targets, features, smoother, dtype, root)
    held = [hold(y, p, rows.chunk, dtype, ranks) for y in targets]
    sources = [rows, *(target.rows for target in held if target.rows is not None)]
    weighted = any(isinstance(target, MomentsTarget) for target in held)
    count = len(features.tensors)
    single = rows.chunks == 1
    if single:
        phi = features(rows.all())
        parts = [source.all() for source in sources[1:]]

    def first(index: int, phi: Tensor, parts: Sequence[Tensor]) -> tuple[Tensor, ...]:
        products = (target.project(index, part, phi) for target, part in _paired(held, parts))
        return gram(phi).to(wide(phi)), *products

    def first_chunk(index: int, given: Sequence[Tensor], shared: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return first(index, features.apply(given[0], *shared), given[1:])

    gram_sum, *projected = first(0, phi, parts) if single else stream(first_chunk, sources, features.tensors)
    if ranks is not None:
        gram_sum, *projected = ranks.sum(gram_sum, *projected)
        sizes = ranks.constants(*(target.size for target in held))
        for target, size in zip(held, sizes, strict=True):
            target.size = size
    core = smoother.core(gram_sum, rows.total).to(dtype)
    fits = [core @ product for product in projected]

    def second(
        index: int, phi: Tensor, parts: Sequence[Tensor], core: Tensor, fits: Sequence[Tensor]
    ) -> tuple[Tensor, ...]:
        inflate = inflation(1 - own_weight(phi, core)) if leave_one_out else None
        found: list[Tensor] = []
        if weighted:
            found.append(gram(phi if inflate is None else phi * inflate.unsqueeze(1)).to(wide(phi)))
        for (target, part), fit in zip(_paired(held, parts), fits, strict=True):
            found.extend(target.account(index, part, phi, fit, inflate))
        return tuple(found)

    def second_chunk(index: int, given: Sequence[Tensor], shared: Sequence[Tensor]) -> tuple[Tensor, ...]:
        own, core, *fits = shared[:count], *shared[count:]
        return second(index, features.apply(given[0], *own), given[1:], core, fits)

    found = list(
        second(0, phi, parts, core, fits) if single else stream(second_chunk, sources, (*features.tensors, core, *fits))
    )
    if ranks is not None:
        found = list(ranks.sum(*found))
    weighted_gram = found.pop(0) if weighted else None
    total = gram_sum.new_zeros(())
    for target, fit in zip(held, fits, strict=True):
        total = total + target.rho(found[: target.sums], fit, weighted_gram, rows.total, root)
        del found[: target.sums]
    return total


def _is_one_step(rows: Rows, targets: Sequence[Tensor], leave_one_out: bool, p: float) -> bool:
    plain = not leave_one_out and p == 2
    return plain and rows.chunks == 1 and rows.ranks is None and all(y.layout == torch.strided for y in targets)


def _one_step(
    rows: Rows, targets: Sequence[Tensor], features: FeatureMap, smoother: Ridge, dtype: torch.dtype, root: bool
) -> Tensor:
    y = torch.cat([y.to(dtype) for y in targets], dim=1) if len(targets) > 1 else targets[0].to(dtype)
    sums = ridge_sums(y, features(rows.all()), smoother.weight(rows.total)).to(wide(y))
    size = power_sums(y.detach(), 2).to(wide(y))
    widths = [target.shape[1] for target in targets]
    pairs = zip(sums.split(widths), size.split(widths), strict=True)
    return torch.stack([mean_norm(part, own, rows.total, 2.0, dtype, None, root) for part, own in pairs]).sum()


def _paired(held: Sequence[Target], parts: Sequence[Tensor]) -> list[tuple[Target, Tensor | None]]:
    """Each target with its part; those that keep their own chunks have none."""
    given = iter(parts)
    return [(target, None if target.rows is None else next(given)) for target in held]
