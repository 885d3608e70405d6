r"""The bandwidth of the Gaussian kernel :math:`k(x, x') = \exp(-\|x - x'\|^2 / 2\sigma^2)`."""

from typing import Literal

import torch
from torch import Tensor

from girl.kernel.chunks import ChunkedRows

Bandwidth = Literal["mean", "median"] | float
BANDWIDTHS = ("mean", "median")

#: Up to this many rows, the median is over all pairs; above, it is over :data:`MEDIAN_PAIRS` random pairs.
MEDIAN_ROWS = 512
#: Enough pairs for a median within about one percent.
MEDIAN_PAIRS = 32_768


def squared_width(rows: ChunkedRows, bandwidth: Bandwidth, generator: torch.Generator | None = None) -> Tensor:
    r"""The scalar :math:`2\sigma^2` that squared distances are divided by, differentiable in the rows (n x d).

    - ``"mean"``: the mean of all n² squared distances. The n zeros on the diagonal count, as in the paper's code.
      It is twice the total variance: :math:`\frac1{n^2}\sum_{ij}\|x_i-x_j\|^2 = \frac2n\sum_i\|x_i-\bar x\|^2`, O(nd).
    - ``"median"``: the median squared distance of distinct rows, over all pairs of up to :data:`MEDIAN_ROWS` rows, else
      over random pairs. Its gradient is that of the one pair at the median.
    - a number: :math:`\sigma` itself.

    With ``"mean"`` and ``"median"`` the loss does not depend on the scale of x: growing cannot lower it.
    """
    if not isinstance(bandwidth, str):
        return torch.as_tensor(2.0 * float(bandwidth) ** 2, dtype=rows.center.dtype, device=rows.x.device)
    if bandwidth == "mean":
        width = 2 * rows.mean_squared_deviation
        reason, fix = "in its floating type", "rescale x or use float64"
    else:
        width = _median(rows, generator)
        reason, fix = "because at least half of the pairs coincide", "use bandwidth='mean' or a number"
    if not bool(width.detach() > 0):
        raise ValueError(
            f"x: the {bandwidth} squared distance between its rows is 0 {reason}, so bandwidth={bandwidth!r} is "
            f"undefined; {fix}"
        )
    return width


def _median(rows: ChunkedRows, generator: torch.Generator | None) -> Tensor:
    if rows.communicator is not None:
        raise ValueError(
            "bandwidth: given 'median' with rows on several processes, expected 'mean' or a number: no process knows "
            "the distances between rows of different processes"
        )
    x, n = rows.x, len(rows)
    if n <= MEDIAN_ROWS:
        first, second = torch.triu_indices(n, n, offset=1, device=x.device)
    else:
        source = generator.device if generator is not None else x.device
        first = torch.randint(n, (MEDIAN_PAIRS,), generator=generator, device=source)
        step = torch.randint(1, n, (MEDIAN_PAIRS,), generator=generator, device=source)  # never 0: rows are distinct
        first, second = first.to(x.device), ((first + step) % n).to(x.device)
    dtype = rows.center.dtype
    # By differences: the product formula |a|² - 2ab + |b|² would lose close pairs to cancellation.
    pairs = zip(first.split(4096), second.split(4096), strict=True)
    distances = torch.cat([(x[a].to(dtype) - x[b].to(dtype)).square_().sum(1) for a, b in pairs])
    at = distances.median(dim=0).indices
    a, b = rows.take(torch.stack([first[at], second[at]])).to(dtype)
    return (a - b).square().sum()
