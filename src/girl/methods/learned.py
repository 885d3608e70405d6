r"""The learned part of the default: what kernel regression predicts of a hidden part of the graph, as columns.

The bands of the visible part of a graph pass through random Fourier features, and a ridge regression on all nodes maps
these to what was hidden: columns, features of hidden neighbours, positions by hidden edges. The leading components of
the prediction are a band like the others. If columns are independent of each other given a class, such a prediction is
a linear function of the probabilities of the classes: see :doc:`/default`.

Everything is in closed form: no steps, no learning rate.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from girl.graph.bands import LEARNED_COLUMNS

#: Frequencies of the kernel features; each gives a cosine and a sine.
FREQUENCIES = 256
#: Columns of a band that are used at most: those of a judged band.
MAX_WIDTH = 128
#: Strengths of the ridge that are tried, relative to the mean eigenvalue.
STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
#: The regression reads at most this many rows, and is not made from fewer than the least.
MAX_ROWS, LEAST_ROWS = 20_000, 300


class LearnedPart(nn.Module):
    r"""A kernel regression of hidden targets on bands :math:`B_k` at scales :math:`s_k`.

    .. math:: L = \varphi\Bigl(\sum_k s_kB_k\Omega_k\Bigr)\,W, \qquad \varphi(a) = [\cos a, \sin a],

    with random frequencies Ω and a ridge solution, reduced to its leading components, W.

    Args:
        widths: columns of each band that may be used, by name.
    """

    weights: Tensor
    center: Tensor

    def __init__(self, widths: Mapping[str, int]) -> None:
        super().__init__()
        self.names = tuple(widths)
        for name, width in widths.items():
            self.register_buffer(f"frequencies_{name}", torch.zeros(min(width, MAX_WIDTH), FREQUENCIES))
            self.register_buffer(f"mean_{name}", torch.zeros(min(width, MAX_WIDTH)))
        self.register_buffer("weights", torch.zeros(2 * FREQUENCIES, LEARNED_COLUMNS))
        self.register_buffer("center", torch.zeros(LEARNED_COLUMNS))

    @property
    def inputs(self) -> list[str]:
        """The bands that the regression reads; none before :meth:`fit`."""
        return [name for name in self.names if bool(self._frequencies(name).any())]

    def _frequencies(self, name: str) -> Tensor:
        return self.get_buffer(f"frequencies_{name}")

    def fit(
        self,
        bands: Mapping[str, Tensor],
        scales: Mapping[str, float],
        target: Tensor,
        generator: torch.Generator,
    ) -> float:
        """Fit the regression; return the share of the target that it explains by leave-one-out.

        Args:
            bands: rows (m × width) of the bands of the visible part of a graph.
            scales: of the bands; those without one, or with 0, are not used.
            target: what is hidden at these rows (m × c).
            generator: draws the frequencies.
        """
        total = sum(scales.get(name, 0.0) ** 2 for name in self.names)
        for name in self.names:
            frequencies = self._frequencies(name).zero_()
            scale = scales.get(name, 0.0)
            if not scale or name not in bands:
                continue
            band = bands[name][:, : len(frequencies)]
            spread = float(band.var(0, correction=0).sum())
            if spread <= 1e-12:
                continue
            noise = torch.randn(frequencies.shape, generator=generator, device=generator.device)
            # The mean squared distance of all bands together becomes 2: as far as the Gaussian kernel sees.
            frequencies.copy_(noise * (scale / (total * spread) ** 0.5))
            frequencies[band.shape[1] :] = 0
            self.get_buffer(f"mean_{name}")[: band.shape[1]] = band.mean(0)
        if not self.inputs:
            return 0.0
        angles = torch.stack([self.angles(name, bands[name]) for name in self.inputs]).sum(0)
        share, self.weights[:], self.center[:] = _reduced_rank_ridge(_features(angles), target)
        return share

    def angles(self, name: str, band: Tensor) -> Tensor:
        r"""What a band (n × width) adds to the angles (n × 256): :math:`s_kB_k\Omega_k`, centred."""
        width = min(band.shape[1], MAX_WIDTH)
        return (band[:, :width] - self.get_buffer(f"mean_{name}")[:width]) @ self._frequencies(name)[:width]

    def forward(self, angles: Tensor) -> Tensor:
        """The learned columns (n × 64), from the sum of the angles of all :attr:`inputs`."""
        return _features(angles) @ self.weights - self.center


def _features(angles: Tensor) -> Tensor:
    return torch.cat([angles.cos(), angles.sin()], 1)


def _reduced_rank_ridge(features: Tensor, target: Tensor) -> tuple[float, Tensor, Tensor]:
    r"""The explained share of the target (n × c), weights (f × 64) and their mean prediction (64).

    With :math:`\Phi = U\Lambda^{1/2}V^\top`, the ridge of strength τ has the fit :math:`H Y`,
    :math:`H = U\Lambda(\Lambda+\tau)^{-1}U^\top`, and leave-one-out residuals :math:`(Y - HY)_i / (1 - H_{ii})`; τ is
    the one of the smallest residuals. The leading right singular vectors of the fit give its components.
    """
    mean = features.mean(0)
    centered, y = features - mean, target - target.mean(0)
    values, vectors = torch.linalg.eigh((centered.T @ centered).double())
    values, vectors = values.clamp(min=0).float(), vectors.float()
    scores = centered @ vectors
    products = scores.T @ y
    unit = values.mean().clamp(min=1e-30)
    best = (-torch.inf, 1.0)
    for strength in STRENGTHS:
        shrunk = 1 / (values + strength * unit)
        leverage = scores.square() @ shrunk
        residual = (y - scores @ (shrunk.unsqueeze(1) * products)) / (1 - leverage).clamp(min=1e-3).unsqueeze(1)
        share = 1 - float(residual.square().sum() / y.square().sum().clamp(min=1e-30))
        best = max(best, (share, strength))
    solution = products / (values + best[1] * unit).unsqueeze(1)  # f × c, in the basis of the eigenvectors
    directions = torch.linalg.svd(values.sqrt().unsqueeze(1) * solution, full_matrices=False)[2]
    rotation = directions[:LEARNED_COLUMNS].T  # c × r
    weights = torch.zeros(len(values), LEARNED_COLUMNS, device=features.device)
    weights[:, : rotation.shape[1]] = vectors @ solution @ rotation
    return best[0], weights, mean @ weights
