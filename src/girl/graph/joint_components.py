r"""Directions that represent features both as they are and smoothed over the graph."""

from __future__ import annotations

import torch
from torch import Tensor

from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.graph.subspace import OVERSAMPLE, leading_rotation, orthonormalize

#: Passes over the features; see :mod:`girl.graph.subspace`.
PASSES = 2


def joint_directions(x: NodeFeatures, graph: Graph, rank: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    r"""Directions V (d × r) and column means (d): those in which X and its smoothed version vary most.

    The leading eigenvectors of :math:`X_c^\top X_c / a + X_c^\top S^4 X_c / b`, where :math:`X_c` is X without its
    column means, S the GCN matrix, and a and b bring both terms to the same trace. The components of X alone would
    lose what smoothing brings out, and those of the smoothed features what is a node's own.

    Args:
        x: features, n × d.
        graph: the graph.
        rank: r. With as many columns or fewer, V is the identity.
        generator: draws the first subspace.
    """
    n, d = x.shape
    mean = x.t_matmul(torch.full((n, 1), 1 / n, device=x.device)).squeeze(1)  # d
    if d <= rank:
        return torch.eye(d, device=x.device), mean

    def both(w: Tensor) -> tuple[Tensor, Tensor]:
        """X_c W and S²X_c W, each of mean square 1."""
        own = (x @ w).sub_(mean @ w)
        smooth = graph.gcn @ (graph.gcn @ own)
        smooth -= smooth.mean(0)
        return tuple(z / z.square().mean().sqrt().clamp(min=1e-30) for z in (own, smooth))  # type: ignore[return-value]

    basis = torch.randn(d, min(rank + OVERSAMPLE, d), generator=generator, device=x.device)
    for _ in range(PASSES):
        own, smooth = both(basis)
        # S is symmetric for an undirected graph; for a directed one this is its transpose only roughly, which will do.
        total = own + graph.gcn @ (graph.gcn @ smooth)
        basis = orthonormalize(x.t_matmul(total).sub_(torch.outer(mean, total.sum(0))))
    own, smooth = both(basis)
    rotation = leading_rotation(own.T @ own + smooth.T @ smooth, basis, rank)
    directions = torch.zeros(d, rank, device=x.device)
    directions[:, : rotation.shape[1]] = basis @ rotation
    return directions, mean
