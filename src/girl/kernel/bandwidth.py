r"""The width of the Gaussian kernel :math:`k(x, x') = \exp(-\|x - x'\|^2 / 2\sigma^2)`."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from girl.kernel.rows import Rows

Bandwidth = Literal["mean", "median"] | float

BANDWIDTHS = ("mean", "median")

#: Up to this many rows the median is that of all pairs; of more rows it is that of :data:`MEDIAN_PAIRS` random pairs.
MEDIAN_ROWS = 512

#: Enough to fix the median to about one percent.
MEDIAN_PAIRS = 32_768


def squared_width(rows: Rows, bandwidth: Bandwidth, generator: torch.Generator | None = None) -> Tensor:
    r"""The scalar :math:`2\sigma^2` by which squared distances are divided, differentiable in the rows (n x d).

    - ``"mean"``: the mean of all n² squared distances, which is twice the total variance of the columns and so costs
      O(nd): :math:`\frac1{n^2}\sum_{ij}\|x_i-x_j\|^2 = \frac2n\sum_i\|x_i-\bar x\|^2`. It counts the n zeros on the
      diagonal, as the published estimator does.
    - ``"median"``: the median squared distance of distinct rows: of all pairs if there are up to :data:`MEDIAN_ROWS`
      rows, else of random pairs drawn with ``generator``. Its gradient is that of the one pair that is the median.
    - a number: :math:`\sigma` itself.

    The first two make the loss invariant under the scale of x: a representation cannot lower it by growing.
    """
    if isinstance(bandwidth, str):
        if bandwidth == "median" and rows.ranks is not None:
            raise ValueError(
                "bandwidth: given 'median' with rows on several processes, expected 'mean' or a number: the distances "
                "between rows of different processes are known to none"
            )
        width = 2 * rows.mean_square if bandwidth == "mean" else _median(rows, generator)
        if not bool(width.detach() > 0):
            raise ValueError(
                f"x: the {bandwidth} squared distance between its rows is 0"
                + (": at least half of the pairs coincide" if bandwidth == "median" else " in its floating type")
                + f", so bandwidth={bandwidth!r} is undefined; "
                + ("use bandwidth='mean' or a number" if bandwidth == "median" else "rescale x or use float64")
            )
        return width
    return torch.as_tensor(2.0 * float(bandwidth) ** 2, dtype=rows.center.dtype, device=rows.x.device)


def _median(rows: Rows, generator: torch.Generator | None) -> Tensor:
    x, n = rows.x, len(rows)
    if n <= MEDIAN_ROWS:
        first, second = torch.triu_indices(n, n, offset=1, device=x.device)
    else:
        source = generator.device if generator is not None else x.device
        first = torch.randint(n, (MEDIAN_PAIRS,), generator=generator, device=source)
        step = torch.randint(1, n, (MEDIAN_PAIRS,), generator=generator, device=source)  # never back to the first
        first, second = first.to(x.device), ((first + step) % n).to(x.device)
    dtype = rows.center.dtype
    # By differences: the product formula would lose close pairs to cancellation.
    distances = torch.cat(
        [
            (x[a].to(dtype) - x[b].to(dtype)).square_().sum(1)
            for a, b in zip(first.split(4096), second.split(4096), strict=True)
        ]
    )
    at = distances.median(dim=0).indices
    pair = rows.take(torch.stack([first[at], second[at]])).to(dtype)
    return (pair[0] - pair[1]).square().sum()


def draw_rows(n: int, size: int, device: torch.device, generator: torch.Generator | None) -> Tensor:
    """``size`` of ``n`` row numbers without replacement, drawn where the generator lives."""
    source = generator.device if generator is not None else device
    return torch.randperm(n, generator=generator, device=source)[:size].to(device)
