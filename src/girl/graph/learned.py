r"""The learned band of a graph: the directions in which features agree with those around a node.

Some features say what a node is about, and its neighbours share them; others are accidents of this one node. A smoothed
representation should be made of the first kind. Which these are is learned from the graph, without labels, in closed
form: a canonical correlation analysis of the features of a node and of those around it.
"""

from __future__ import annotations

import torch
from torch import Tensor

#: Ridge of the covariance, relative to its mean eigenvalue. Directions of little variance are mostly noise: without it
#: they would count as much as the leading ones.
RIDGE = 3.0


def shared_directions(z: Tensor, smoothed: Tensor) -> Tensor:
    r"""A map W (r × r) of features to what a node shares with its surroundings, the most shared first.

    With features z and their smoothed version Pz (n × r), :math:`C = z^\top z / n` and the symmetric part A of
    :math:`z^\top Pz / n`, the columns of W solve

    .. math::

        A w_i = \rho_i\,(C + \lambda\bar c I)\,w_i, \qquad w_i^\top (C + \lambda\bar c I)\,w_i = \rho_i^2/\rho_1^2,

    where :math:`\bar c` is the mean eigenvalue of C and λ is 3. Without the ridge, :math:`\rho_i` would be canonical
    correlations: the best linear prediction of Pz from z with few columns is made of the leading ones (reduced-rank
    regression). Directions in which neighbours do not agree have ρ ≤ 0 and are left out.

    Args:
        z: features (n × r), centred.
        smoothed: the same, smoothed over the graph.
    """
    n, r = z.shape
    if not n or not r:
        return torch.zeros(r, r, device=z.device)
    smoothed = smoothed - smoothed.mean(0)
    cross = (z.T @ smoothed).double() / n
    values, vectors = torch.linalg.eigh((z.T @ z).double() / n)
    values = values.clamp(min=0)
    ridge = (RIDGE * values.mean()).clamp(min=torch.finfo(torch.float32).tiny)
    whitening = vectors / (values + ridge).sqrt()  # r × r
    shared, rotation = torch.linalg.eigh(whitening.T @ (cross + cross.T) @ whitening / 2)
    shared, rotation = shared.flip(0).clamp(min=0), rotation.flip(1)
    weights = shared / shared[0].clamp(min=torch.finfo(torch.float32).tiny)
    return (whitening @ (rotation * weights)).to(z.dtype)
