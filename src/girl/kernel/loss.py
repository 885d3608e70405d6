r"""The kernel-regression loss ρ̂(Y|X): how much of Y is *not* a continuous function of X."""

from collections.abc import Sequence
from typing import Literal, Self

import torch
from torch import Tensor, nn
from torch.distributed import ProcessGroup

from girl.kernel import checks
from girl.kernel.bandwidth import BANDWIDTHS, Bandwidth, squared_width
from girl.kernel.chunks import ChunkedRows
from girl.kernel.distributed import Communicator
from girl.kernel.features import FEATURES, LANDMARKS, Features, FrequencyCache, Landmarks, fourier_map, nystrom_map
from girl.kernel.precision import wide_dtype, working_dtype
from girl.kernel.regression import exact_rho, lowrank_rho
from girl.kernel.smoother import SMOOTHERS, SmootherName

Residual = Literal["loo", "insample"]
RESIDUALS = ("loo", "insample")

#: Up to this many rows are a single chunk, whose features serve both passes and the backward.
SINGLE_CHUNK_ROWS = 8192
#: The default chunk of more rows: large enough for fast products, small enough to stay in the processor's cache.
CHUNK_ROWS = 1024
#: Rows count as equal if their mean squared deviation is at most this fraction of their mean squared norm.
EQUAL_ROWS = 1e-28


class KRLoss(nn.Module):
    r"""The kernel-regression loss of Fishman et al. (ICML 2023), exact or low-rank, in-sample or leave-one-out.

    Samples X (n x d) explain targets Y (n x m). With the Gaussian kernel matrix :math:`K \approx \Phi\Phi^\top`, a
    smoother :math:`H = \Phi\,g(C)\,\Phi^\top`, :math:`C=\Phi^\top\Phi`, and residuals :math:`R = (I-H)Y`,

    .. math::

        \hat\rho(Y|X) = \frac1m\sum_{c=1}^m \Bigl(\frac1n\sum_{i=1}^n |R_{ic}|^p\Bigr)^{1/p}.

    Zero means that X determines Y; on standardised targets, one means that X tells nothing about Y. It is a proxy for
    the mutual information of X and Y, not a bound on it.

    **In the paper**, Theorem 4.2 is ``features="exact", smoother="projection", residual="insample"``: H is the
    orthogonal projection Π onto the image of K. The released code has ``smoother="clamp"`` instead; :meth:`paper` is
    that estimator. Ridge, leave-one-out and low rank are ours. In-sample residuals vanish when the points move apart
    until K ≈ I, which teaches an encoder nothing; leave-one-out residuals :math:`R_i/(1-H_{ii})` have no such optimum.

    **For p other than 2** the theorem's formula is not the :math:`L_p` minimum. The paper defines ρ(Y|X) as
    :math:`\inf_f (\mathbb{E}|Y-f(X)|^p)^{1/p}`, and its proof replaces :math:`\min_\alpha\|y-K\alpha\|_p` by
    :math:`\|(I-\Pi)y\|_p`. But the projection, like the conditional mean, minimises only the :math:`L_2` distance. For
    other p the value is the :math:`L_p` norm of the residual of the :math:`L_2` fit: in-sample, an upper bound of the
    minimum.

    Args:
        bandwidth: :math:`2\sigma^2` of the kernel: the ``"mean"`` or ``"median"`` squared distance of rows; a number is
            :math:`\sigma`. Gradients flow through it.
        features: how K is represented. ``"exact"``: in full, O(n³). ``"nystrom"``: by landmarks among the rows.
            ``"fourier"``: by orthogonal random features, drawn anew at each call. ``"auto"``: exact for up to
            ``2 * rank`` rows, Nyström above.
        rank: r, the number of features of a low-rank K.
        smoother: the fraction of each eigenvector of K that the fit keeps. ``"ridge"``:
            :math:`\lambda/(\lambda+n\tau)`, which smooths batches of any size equally. ``"clamp"``:
            :math:`\min(\lambda/c,1)`. ``"projection"``: :math:`1[\lambda>t\,\lambda_{\max}]`.
        strength: the smoother's :math:`\tau`, c or t; by default 1e-3, 1 and 1e-4.
        residual: ``"loo"``, leave-one-out (exact for ridge at a fixed bandwidth), or ``"insample"``.
        p: the exponent of the norm, at least 1.
        root: whether each column's p-th root is taken. Without it, and with p = 2, the loss is the mean squared
            residual, the form of the paper's supervised experiments.
        landmarks: how Nyström chooses rows: ``"uniform"``, or ``"rpcholesky"``, which is slightly better and slower.
        chunk_size: rows in memory at a time if K is low-rank; by default all of up to 8,192 rows, else 1,024. It
            changes time and memory, not the value.
        group: a torch.distributed process group. The rows of all its processes are then one batch, and each process
            gets its loss. Messages hold r x r and r x m numbers, whatever n is; only exact features gather the rows. A
            process may have no rows. Average the gradients over processes, as ``DistributedDataParallel`` does.

    Example:
        >>> import torch, girl
        >>> x = torch.randn(2000, 8, generator=torch.Generator().manual_seed(0))
        >>> loss = girl.KRLoss()
        >>> bool(loss(x, x[:, :1].sin()) < 0.2 < 0.9 < loss(x, torch.randn(2000, 1)))
        True

    See Also:
        :func:`girl.kr_loss`: the functional form.
        :func:`girl.rho`: an estimate of ρ(Y|X) to read, rather than a loss to train with.
        :class:`girl.KRRegularizer`: this loss on the layers of a GNN.
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
        chunk_size: int | None = None,
        group: ProcessGroup | None = None,
    ) -> None:
        super().__init__()
        if isinstance(bandwidth, str):
            checks.check_choice("bandwidth", bandwidth, BANDWIDTHS)
        else:
            checks.check_number("bandwidth", bandwidth, 0, low_open=True)
        checks.check_choice("features", features, FEATURES)
        checks.check_int("rank", rank, 1)
        checks.check_choice("smoother", smoother, SMOOTHERS)
        if strength is not None:
            limit = 1 if smoother == "projection" else float("inf")
            checks.check_number("strength", strength, 0, limit, low_open=True)
        checks.check_choice("residual", residual, RESIDUALS)
        checks.check_number("p", p, 1)
        checks.check_bool("root", root)
        checks.check_choice("landmarks", landmarks, LANDMARKS)
        if chunk_size is not None:
            checks.check_int("chunk_size", chunk_size, 1)
        self.bandwidth = bandwidth
        self.features = features
        self.rank = rank
        self.smoother = SMOOTHERS[smoother]() if strength is None else SMOOTHERS[smoother](strength)
        self.residual = residual
        self.p = float(p)
        self.root = root
        self.landmarks = landmarks
        self.chunk_size = chunk_size
        self.communicator = None if group is None else Communicator(group)

    @classmethod
    def paper(cls) -> Self:
        r"""The estimator of the paper's released code: mean bandwidth, exact K, :math:`\min(\lambda,1)`, in-sample."""
        return cls(bandwidth="mean", features="exact", smoother="clamp", residual="insample")

    def forward(
        self,
        x: Tensor,
        *targets: Tensor,
        generator: torch.Generator | None = None,
        frequency_cache: FrequencyCache | None = None,
    ) -> Tensor:
        """The sum over ``targets`` of ρ̂(target | x), a scalar of the type of ``x``.

        Args:
            x: samples, n x d, dense.
            targets: one or more matrices n x m, dense or CSR. Gradients flow into dense ones; detach to stop them.
            generator: for all random choices (landmarks, frequencies, pairs for the median); by default torch's global
                generator.
            frequency_cache: a dict, empty at first. Calls that share it share their Fourier frequencies; with many
                narrow samples, drawing them is a tenth of the work.
        """
        x = checks.check_samples(x)
        if not targets:
            raise ValueError("targets: given none, expected at least one tensor of n rows")
        targets = tuple(checks.check_target(y, x, position) for position, y in enumerate(targets))
        rows = self._checked_rows(x, targets)
        loo = self.residual == "loo"
        dtype = working_dtype(x)
        features = self.features
        if features == "auto":
            features = "exact" if rows.total <= 2 * self.rank else "nystrom"
        # Smoothers that truncate divide by eigenvalues down to their level, which float32 sums cannot resolve. With as
        # many features as rows no work is saved, and K is as ill-conditioned as the full matrix.
        wide = self.smoother.truncates or self.rank >= rows.total
        feature_dtype = wide_dtype(x) if wide else dtype
        if rows.communicator is not None:
            if features != "fourier" or x.shape[1] not in (frequency_cache or {}):
                generator = rows.communicator.broadcast_generator(generator, x.device)
            if features == "exact":
                x, targets = rows.gather(x), tuple(rows.gather(y) for y in targets)
                rows = ChunkedRows(x)
            equal = bool(rows.mean_squared_deviation.detach() <= EQUAL_ROWS * rows.mean_squared_norm)
            checks.check_rows_differ(rows.total, equal)
        width = squared_width(rows, self.bandwidth, generator)
        if features == "exact":
            return exact_rho(rows, targets, width, self.smoother, loo, self.p, self.root).to(dtype)
        if features == "nystrom":
            feature_map = nystrom_map(rows, width, self.rank, self.landmarks, feature_dtype, generator)
        else:
            feature_map = fourier_map(rows, width, self.rank, feature_dtype, generator, frequency_cache)
        return lowrank_rho(rows, targets, feature_map, self.smoother, loo, self.p, self.root).to(dtype)

    def _checked_rows(self, x: Tensor, targets: Sequence[Tensor]) -> ChunkedRows:
        """The rows, if they are valid. With several processes all of them raise or none, so that none waits forever."""
        chunk_size = self.chunk_size or (max(len(x), 1) if len(x) <= SINGLE_CHUNK_ROWS else CHUNK_ROWS)
        failure: checks.NotFiniteError | None = None
        try:
            checks.check_finite(x, targets)
        except checks.NotFiniteError as error:
            failure = error
        rows = ChunkedRows(x, chunk_size, self.communicator, failure is not None)
        if rows.num_failed:
            message = "x: another process was given NaN or infinity, expected finite numbers"
            raise failure or checks.NotFiniteError(message)
        checks.check_rows_differ(rows.total, equal=self.communicator is None and checks.all_rows_equal(x))
        return rows

    def extra_repr(self) -> str:
        return (
            f"bandwidth={self.bandwidth!r}, features={self.features!r}, rank={self.rank}, smoother={self.smoother}, "
            f"residual={self.residual!r}, p={self.p:g}" + ("" if self.root else ", root=False")
        )


def kr_loss(  # noqa: D417 (most arguments are described in KRLoss)
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
    chunk_size: int | None = None,
    group: ProcessGroup | None = None,
    generator: torch.Generator | None = None,
    frequency_cache: FrequencyCache | None = None,
) -> Tensor:
    r"""The functional form of :class:`KRLoss`: the sum over ``targets`` of ρ̂(target | x).

    .. math::

        \hat\rho(Y|X) = \frac1m\sum_{c=1}^m \Bigl(\frac1n\sum_{i=1}^n |R_{ic}|^p\Bigr)^{1/p}, \qquad R = (I-H)Y.

    Args:
        x: samples, n x d, dense.
        targets: one or more matrices n x m, dense or CSR.
        generator: as in :meth:`KRLoss.forward`, and so is ``frequency_cache``. All other arguments are as in
            :class:`KRLoss`, with the same defaults.

    Example:
        >>> import torch, girl
        >>> x = torch.randn(100, 2, generator=torch.Generator().manual_seed(0))
        >>> bool(girl.kr_loss(x, x.sin()) < 0.1)
        True

    See Also:
        :class:`girl.KRLoss`: the module, with every choice explained.
    """
    choices = (bandwidth, features, rank, smoother, strength, residual, p)
    module = KRLoss(*choices, root=root, landmarks=landmarks, chunk_size=chunk_size, group=group)
    return module(x, *targets, generator=generator, frequency_cache=frequency_cache)
