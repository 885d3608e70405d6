r"""Controls of the same width as an embedding: representations that need no training, by a few principal components.

All of them see the features on the scale that the default recipe sees (:mod:`girl.graph.feature_scaling`), so that a
difference is not one of scaling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.graph.feature_scaling import FeatureScaling
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.graph.positions import positions
from girl.graph.subspace import principal_components

#: Steps and teleport probability of personalised PageRank: what is cut off has a weight below 1 %.
PPR_STEPS, PPR_TELEPORT = 40, 0.1

#: The controls by name: raw features, two steps of smoothing, all hops side by side, personalised PageRank, positions
#: from the edges alone, and the last three kinds side by side.
CONTROLS = ("raw", "sgc", "hops", "ppr", "positions", "concatenated")

Operator = Callable[[Tensor, bool], Tensor]


def control(name: str, data: Batch, dim: int, seed: int = 0) -> Tensor:
    """A control (n × at most dim columns).

    Args:
        name: one of :data:`CONTROLS`.
        data: the graph, with features that are not normalised.
        dim: columns; fewer if the control has fewer.
        seed: seed of the search for components.
    """
    if name not in CONTROLS:
        raise InputError(f"control: given {name!r}, expected one of {', '.join(CONTROLS)}")
    if name == "positions":
        return positions(data.graph, dim, seed)
    if name == "concatenated":
        parts = [control(part, data, dim, seed) for part in ("raw", "ppr", "positions")]
        joined = torch.cat([_unit(part) for part in parts], 1)
        return _components([joined.__matmul__], [joined.T.__matmul__], joined.shape, dim, seed)
    scaling = FeatureScaling(data.x.shape[1]).to(data.x.device)
    scaling.fit(data.x)
    x = scaling(data.x)
    return _of_features(x, data.graph, name, dim, seed)


def _of_features(x: NodeFeatures, graph: Graph, name: str, dim: int, seed: int) -> Tensor:
    """Components of propagated features, [P₁X, P₂X, ...], without writing these out."""

    def power(hops: int, z: Tensor, transpose: bool) -> Tensor:
        for _ in range(hops):
            z = graph.gcn.t_matmul(z) if transpose else graph.gcn @ z
        return z

    def pagerank(z: Tensor, transpose: bool) -> Tensor:
        return graph.propagate(z, PPR_TELEPORT, PPR_STEPS, transpose=transpose)

    operators: dict[str, list[Operator]] = {
        "raw": [partial(power, 0)],
        "sgc": [partial(power, 2)],
        "hops": [partial(power, hops) for hops in range(3)],
        "ppr": [pagerank],
    }
    chosen = operators[name]
    n, d = x.shape
    if name == "raw" and d <= dim:
        return x.dense()

    def forward(operator: Operator) -> Callable[[Tensor], Tensor]:
        return lambda w: operator(x @ w, False)

    def backward(operator: Operator) -> Callable[[Tensor], Tensor]:
        return lambda z: x.t_matmul(operator(z, True))

    products, t_products = [forward(o) for o in chosen], [backward(o) for o in chosen]
    return _components(products, t_products, (n, len(chosen) * d), dim, seed)


def _components(
    products: Sequence[Callable[[Tensor], Tensor]],
    t_products: Sequence[Callable[[Tensor], Tensor]],
    shape: tuple[int, int] | torch.Size,
    dim: int,
    seed: int,
) -> Tensor:
    """Principal components of blocks side by side, each known by its products."""
    n, d = shape
    width = d // len(products)

    def product(w: Tensor) -> Tensor:
        blocks = [block(part) for block, part in zip(products, w.split(width), strict=True)]
        return torch.stack(blocks).sum(0)

    def t_product(z: Tensor) -> Tensor:
        return torch.cat([block(z) for block in t_products])

    generator = torch.Generator().manual_seed(seed)
    return principal_components(product, t_product, (n, d), min(dim, n, d), generator)[0]


def _unit(part: Tensor) -> Tensor:
    """Centred, with a mean squared length of 1."""
    part = part - part.mean(0)
    return part / part.square().sum(1).mean().sqrt().clamp(min=1e-12)
