r"""The kernel-regression loss ρ̂(Y|X): how much of Y is *not* a continuous function of X."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.distributed import ProcessGroup

from girl.kernel.bandwidth import BANDWIDTHS, Bandwidth, squared_width
from girl.kernel.checks import (
    NotFiniteError,
    all_equal,
    check_choice,
    check_finite,
    check_number,
    check_samples,
    check_spread,
    check_target,
    check_truth,
    check_whole,
)
from girl.kernel.distributed import Ranks
from girl.kernel.exact import exact_rho
from girl.kernel.features import FEATURES, LANDMARKS, Drawn, Features, Landmarks, fourier_map, nystrom_map
from girl.kernel.lowrank import lowrank_rho
from girl.kernel.precision import wide, working
from girl.kernel.rows import Rows, rows_of_all
from girl.kernel.smoother import SMOOTHERS, SmootherName

Residual = Literal["loo", "insample"]
RESIDUALS = ("loo", "insample")

#: Up to this many rows are one chunk, whose features serve both passes and the way back.
ONE_CHUNK = 8192

#: Mean squared distance to the centre, as a share of the mean squared length, that rounding leaves of equal rows.
EQUAL = 1e-28

#: Of more rows this many are held at a time: large enough for fast products, small enough to stay in the cache.
MANY_CHUNKS = 1024


class KRLoss(nn.Module):
    r"""The kernel-regression loss of Fishman et al. (ICML 2023), exact or of low rank, in-sample or leave-one-out.

    Samples X (n x d) explain targets Y (n x m). With the Gaussian kernel matrix :math:`K \approx \Phi\Phi^\top`, a
    smoother :math:`H = \Phi\,g(C)\,\Phi^\top`, :math:`C=\Phi^\top\Phi`, and residuals :math:`R = (I-H)Y`,

    .. math::

        \hat\rho(Y|X) = \frac1m\sum_{c=1}^m \Bigl(\frac1n\sum_{i=1}^n |R_{ic}|^p\Bigr)^{1/p}.

    Zero means that X determines Y; on standardised targets, one means that X says nothing about Y. It is a proxy for
    the mutual information of X and Y, not a bound on it.

    The defaults differ from the published estimator on purpose. In-sample residuals vanish when the points spread
    until K ≈ I, which teaches an encoder nothing: the leave-one-out residual :math:`R_i/(1-H_{ii})` has no such
    optimum. Ridge smoothing with a strength relative to n means the same in batches of any size. A low rank makes the
    cost linear in n. :meth:`paper` gives the published estimator.

    Args:
        bandwidth: :math:`2\sigma^2` of the kernel: ``"mean"`` or ``"median"`` of the squared distances; a number is
            :math:`\sigma`. Gradients flow through it.
        features: how K is represented. ``"exact"``: in full, O(n³). ``"nystrom"``: by landmarks among the rows.
            ``"fourier"``: by orthogonal random features, drawn anew at each call. ``"auto"``: exact up to twice the
            rank in rows, Nyström above.
        rank: r, the number of features on the low-rank paths.
        smoother: ``"ridge"`` :math:`\lambda/(\lambda+n\tau)`, ``"clamp"`` :math:`\min(\lambda/c,1)`, or
            ``"projection"`` :math:`1[\lambda>t\,\lambda_{\max}]`.
        strength: the smoother's :math:`\tau`, c or t; by default 1e-3, 1 and 1e-4.
        residual: ``"loo"`` for leave-one-out (exact for ridge at a fixed bandwidth), or ``"insample"``.
        p: the norm, at least 1.
        root: whether each column's p-th root is taken. Without it, and with p = 2, the loss is the mean square of the
            residuals: the form of the paper's supervised experiments.
        landmarks: how Nyström chooses rows: ``"uniform"``, or ``"rpcholesky"``, slightly better and slower.
        chunk: rows held at a time on the low-rank paths; by default all of them up to 8,192, else 1,024. It changes
            time and memory, not the value.
        group: of torch.distributed. The rows of all its processes are then one batch, whose loss every one of them
            gets: by sums of r x r and r x m numbers, whatever n is; only the exact path gathers the rows. A process may
            have no rows. Gradients are for averaging over processes, as ``DistributedDataParallel`` does it.

    Example:
        >>> import torch, girl
        >>> x = torch.randn(2000, 8, generator=torch.Generator().manual_seed(0))
        >>> loss = girl.KRLoss()
        >>> bool(loss(x, x[:, :1].sin()) < 0.2 < 0.9 < loss(x, torch.randn(2000, 1)))
        True
    """

    def __init__(
        self,
        bandwidth: Bandwidth = "mean",
        features: Features = "auto",
        rank: int = 256,
        smoother: SmootherName = "ridge",
        strength: float | None = None,
        residual: Residual = "loo",
        p: float = 2.0,
        *,
        root: bool = True,
        landmarks: Landmarks = "uniform",
        chunk: int | None = None,
        group: ProcessGroup | None = None,
    ) -> None:
        super().__init__()
        if isinstance(bandwidth, str):
            check_choice("bandwidth", bandwidth, BANDWIDTHS)
        else:
            check_number("bandwidth", bandwidth, 0, low_open=True)
        check_choice("features", features, FEATURES)
        check_whole("rank", rank, 1)
        check_choice("smoother", smoother, SMOOTHERS)
        if strength is not None:
            check_number("strength", strength, 0, 1 if smoother == "projection" else float("inf"), low_open=True)
        check_choice("residual", residual, RESIDUALS)
        check_number("p", p, 1)
        check_truth("root", root)
        check_choice("landmarks", landmarks, LANDMARKS)
        if chunk is not None:
            check_whole("chunk", chunk, 1)
        kind = SMOOTHERS[smoother]
        self.bandwidth = bandwidth
        self.features = features
        self.rank = rank
        self.smoother = kind() if strength is None else kind(strength)
        self.residual = residual
        self.p = float(p)
        self.root = root
        self.landmarks = landmarks
        self.chunk = chunk
        self.ranks = None if group is None else Ranks(group)

    @classmethod
    def paper(cls) -> KRLoss:
        r"""The estimator behind the paper's numbers: mean bandwidth, exact K, :math:`\min(\lambda,1)`, in-sample."""
        return cls(bandwidth="mean", features="exact", smoother="clamp", residual="insample")

    def forward(self, x: Tensor, *targets: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """The sum over ``targets`` of ρ̂(target | x), a scalar of the type of ``x``.

        Args:
            x: samples, n x d, dense.
            targets: one or more n x m, dense or CSR. Gradients flow into dense ones; detach what must not move.
            generator: the source of every random choice (landmarks, frequencies, rows for the median). Without one,
                torch's global generator is used.
        """
        return self.estimate(x, targets, generator)

    def estimate(
        self, x: Tensor, targets: Sequence[Tensor], generator: torch.Generator | None = None, drawn: Drawn | None = None
    ) -> Tensor:
        """As :meth:`forward`. Calls that are given the same ``drawn``, empty at first, share their Fourier features.

        That saves the draw, which of many narrow samples is a tenth of the work; the estimate of each is what it was.
        """
        x = check_samples(x)
        if not targets:
            raise ValueError("targets: given none, expected at least one tensor of n rows")
        targets = tuple(check_target(y, x, position) for position, y in enumerate(targets))
        rows = self._rows(x, targets)
        leave_one_out = self.residual == "loo"
        dtype = working(x)
        # The smoothers that cut the spectrum divide by eigenvalues down to their level: float32 sums would not do. With
        # as many features as rows there is no work to save, and K in full is as ill-conditioned as it gets.
        work = wide(x) if self.smoother.cuts or self.rank >= rows.total else dtype
        kind = self.features
        if kind == "auto":
            kind = "exact" if rows.total <= 2 * self.rank else "nystrom"
        if rows.ranks is not None:
            if kind != "fourier" or x.shape[1] not in (drawn or {}):
                generator = rows.ranks.shared(generator, x.device)
            if kind == "exact":
                x, targets = rows_of_all(x, rows), tuple(rows_of_all(y, rows) for y in targets)
                rows = Rows(x)
            check_spread(rows.total, bool(rows.mean_square.detach() <= EQUAL * rows.square))
        width = squared_width(rows, self.bandwidth, generator)
        if kind == "exact":
            rho = exact_rho(rows, targets, width, self.smoother, leave_one_out, self.p, self.root)
        else:
            if kind == "nystrom":
                features = nystrom_map(rows, width, self.rank, self.landmarks, work, generator)
            else:
                features = fourier_map(rows, width, self.rank, work, generator, drawn)
            rho = lowrank_rho(rows, targets, features, self.smoother, leave_one_out, self.p, work, self.root)
        return rho.to(dtype)

    def _rows(self, x: Tensor, targets: Sequence[Tensor]) -> Rows:
        """The rows, if a loss can be had of them. With several processes all complain, or none: none waits in vain."""
        chunk = self.chunk or (max(x.shape[0], 1) if x.shape[0] <= ONE_CHUNK else MANY_CHUNKS)
        if self.ranks is None:
            check_finite(x, targets)
            check_spread(x.shape[0], all_equal(x))
            return Rows(x, chunk)
        fault: NotFiniteError | None = None
        try:
            check_finite(x, targets)
        except NotFiniteError as error:
            fault = error
        rows = Rows(x, chunk, self.ranks, fault is not None)
        if rows.faults:
            raise fault or NotFiniteError("x: another process was given NaN or infinity, expected finite numbers")
        check_spread(rows.total, equal=False)
        return rows

    def extra_repr(self) -> str:
        return (
            f"bandwidth={self.bandwidth!r}, features={self.features!r}, rank={self.rank}, smoother={self.smoother}, "
            f"residual={self.residual!r}, p={self.p:g}" + ("" if self.root else ", root=False")
        )


def kr_loss(
    x: Tensor,
    *targets: Tensor,
    bandwidth: Bandwidth = "mean",
    features: Features = "auto",
    rank: int = 256,
    smoother: SmootherName = "ridge",
    strength: float | None = None,
    residual: Residual = "loo",
    p: float = 2.0,
    root: bool = True,
    landmarks: Landmarks = "uniform",
    chunk: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """The functional form of :class:`KRLoss`: the sum over ``targets`` of ρ̂(target | x)."""
    loss = KRLoss(
        bandwidth, features, rank, smoother, strength, residual, p, root=root, landmarks=landmarks, chunk=chunk
    )
    return loss(x, *targets, generator=generator)
