r"""Controls: representations that nobody trained, which every trained one has to beat.

The untrained encoder is the method itself with ``epochs=0``. The others are here: the raw features, and features
smoothed over the graph by :math:`\hat A = D^{-1/2}(A + I)D^{-1/2}`, the propagation of GCN without its weights.
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

#: Sparse features with more entries than this are reduced before they are propagated, which makes them dense: 400 MB.
LARGE = 10**8

#: Columns that are left of them.
REDUCED = 512

#: Personalised PageRank is summed until what is left of it weighs less than this.
REMAINDER = 1e-3


def raw(data: Data) -> Tensor:
    """The features as they are, n × d, dense or CSR: what a graph must add to."""
    x: Tensor | None = data.x
    if x is None:
        raise InputError("data: given a graph without node features (x), expected n × d")
    return x


def bag_of_nodes(x: Tensor, graph: Tensor, graphs: int) -> Tensor:
    """The features of each graph's nodes summed up, graphs × d: how often each label occurs among them."""
    own = x.to_dense() if x.layout != torch.strided else x
    return own.new_zeros(graphs, own.shape[1]).index_add_(0, graph, own)


def propagated(
    data: Data, *, hops: int | None = None, teleport: float | None = None, keep: bool = False, seed: int = 0
) -> Tensor:
    r"""Features smoothed over the graph without any training, n × d', dense.

    With ``hops`` = k, :math:`\hat A^k X` (SGC, Wu et al. 2019), or all of :math:`[X, \hat AX, …, \hat A^kX]` side by
    side if ``keep``. With ``teleport`` = α, personalised PageRank (APPNP, Gasteiger et al. 2019),
    :math:`\sum_k \alpha(1-\alpha)^k \hat A^kX`. Edges count in both directions and once.

    Sparse X of more than 10⁸ entries, zeros included, is first reduced to its 512 strongest directions by a randomised
    truncated SVD (with a note in the log): smoothed, it would be dense.

    Args:
        data: a graph with ``x`` (dense or CSR) and ``edge_index``.
        hops: how often features are smoothed.
        teleport: the chance to return to the node itself at each step, in (0, 1].
        keep: with ``hops``, whether every hop is kept.
        seed: of the reduction.
    """
    if (hops is None) == (teleport is None):
        raise InputError(f"propagated: given hops={hops} and teleport={teleport}, expected exactly one of them")
    x = _dense(raw(data), seed)
    adjacency = Graph.from_edges(data.edge_index, x.shape[0]).gcn
    adjacency = adjacency.with_values(adjacency.values.to(x.dtype))
    if teleport is not None:
        if not 0 < teleport <= 1:
            raise InputError(f"teleport: given {teleport}, expected a chance above 0, up to 1")
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


#: The controls by the name they have in tables.
CONTROLS: dict[str, Callable[[Data], Tensor]] = {
    "raw": raw,
    "sgc": lambda data: propagated(data, hops=2),
    "hops": lambda data: propagated(data, hops=2, keep=True),
    "ppr": lambda data: propagated(data, teleport=0.1),
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
