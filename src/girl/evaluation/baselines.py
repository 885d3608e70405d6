r"""Baselines: node representations that need no training, and that a trained embedding has to beat.

These are the raw features, and features propagated by :math:`\hat A = D^{-1/2}(A + I)D^{-1/2}` as in a GCN without
weights. The untrained encoder, a third baseline, is :func:`girl.training.untrained.embed_untrained`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import torch
from sklearn.decomposition import TruncatedSVD
from torch import Tensor
from torch_geometric.data import Data

from girl.errors import InputError
from girl.graph.graph import Graph
from girl.graph.propagate import propagate
from girl.kernel.sparse import to_scipy

_log = logging.getLogger(__name__)

#: Propagation makes sparse features dense: those with more entries than this (400 MB) are first reduced to 512 columns.
LARGE = 10**8
REDUCED = 512

#: The series of personalised PageRank is cut when the weights of its remaining terms sum to less than this.
REMAINDER = 1e-3


def raw(data: Data) -> Tensor:
    """The node features, n × d, dense or CSR."""
    x: Tensor | None = data.x
    if x is None:
        raise InputError("data: given a graph without node features (x), expected n × d")
    return x


def bag_of_nodes(data: Data) -> Tensor:
    """The sum of the node features of each graph of a set, graphs × d: the counts, if features are one-hot labels."""
    x = raw(data)
    x = x.to_dense() if x.layout != torch.strided else x
    graphs = data.graphs if "graphs" in data else len(data.y)
    return x.new_zeros(graphs, x.shape[1]).index_add_(0, data.graph, x)


def propagate_features(
    data: Data, *, hops: int | None = None, teleport: float | None = None, keep: bool = False, seed: int = 0
) -> Tensor:
    r"""Features propagated over the graph without weights, n × d', dense.

    With ``hops`` = k, :math:`\hat A^k X` (SGC, Wu et al. 2019), or all of :math:`[X, \hat AX, …, \hat A^kX]` side by
    side if ``keep``. With ``teleport`` = α, personalised PageRank (APPNP, Gasteiger et al. 2019),
    :math:`\sum_k \alpha(1-\alpha)^k \hat A^kX`. The graph is undirected; duplicate edges count once.

    Sparse X of more than 10⁸ entries, zeros included, is first reduced to 512 columns by a randomised truncated SVD,
    and the log says so: propagated, it would be dense.

    Args:
        data: a graph with ``x`` (dense or CSR) and ``edge_index``.
        hops: number of propagation steps.
        teleport: the restart probability of each step, in (0, 1].
        keep: with ``hops``, whether the result holds every hop.
        seed: seed of the reduction.
    """
    if (hops is None) == (teleport is None):
        raise InputError(f"propagate_features: given hops={hops} and teleport={teleport}, expected exactly one of them")
    x = _dense(raw(data), seed)
    adjacency = Graph.from_edges(data.edge_index, x.shape[0]).gcn
    adjacency = adjacency.with_values(adjacency.values.to(x.dtype))
    if teleport is not None:
        if not 0 < teleport <= 1:
            raise InputError(f"teleport: given {teleport}, expected a probability above 0, up to 1")
        steps = 0
        while (1 - teleport) ** (steps + 1) > REMAINDER:
            steps += 1
        return propagate(adjacency, x, teleport, steps, remainder=False)
    if hops is None or hops < 0:
        raise InputError(f"hops: given {hops}, expected a whole number of at least 0")
    layers = [x]
    for _ in range(hops):
        layers.append(adjacency @ layers[-1])
    return torch.cat(layers, dim=1) if keep else layers[-1]


#: The baselines of one graph, by their names in tables.
BASELINES: dict[str, Callable[[Data], Tensor]] = {
    "raw": raw,
    "sgc": lambda data: propagate_features(data, hops=2),
    "hops": lambda data: propagate_features(data, hops=2, keep=True),
    "ppr": lambda data: propagate_features(data, teleport=0.1),
}


def _dense(x: Tensor, seed: int) -> Tensor:
    if x.layout != torch.sparse_csr:
        return x if x.is_floating_point() else x.float()
    n, d = x.shape
    if n * d <= LARGE or d <= REDUCED:
        return x.to_dense().float()
    _log.info("sparse features of %d columns are reduced to %d by a truncated SVD", d, REDUCED)
    # Not centred: centring would make the matrix dense, and the probe centres anyway.
    reduced = TruncatedSVD(REDUCED, n_iter=4, random_state=seed).fit_transform(to_scipy(x))
    return torch.from_numpy(reduced).to(x.dtype)
