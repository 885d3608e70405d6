r"""Feature columns computed from the graph itself, for graphs without node features; linear in the edges.

Roles (degrees, random walks that return) mean the same in every graph; positions (eigenvectors) only in their own.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from girl.errors import InputError
from girl.graph.graph import Graph
from girl.graph.subspace import OVERSAMPLE, iterate_subspace, leading_rotation

Structure = Literal["auto", "none", "roles", "positions", "both"]
STRUCTURES = get_args(Structure)

#: The longest random walk whose returns are counted.
MAX_STEPS = 8
#: Random vectors that estimate the returns; the error of a return after an even number of steps is √(2/probes) of it.
PROBES = 64
#: Columns of positions, and those for a graph with more than LARGE nodes.
POSITIONS, POSITIONS_LARGE, LARGE = 128, 64, 200_000
#: Products of the subspace iteration, and how many of them come between two orthonormalisations.
PRODUCTS, INTERVAL = 20, 4

Array = NDArray[np.float32]


def roles(
    edge_index: Tensor, num_nodes: int, directed: bool = False, seed: int = 0, graph_id: Tensor | None = None
) -> tuple[Array, list[str]]:
    r"""The role of each node (n × k), comparable between graphs, and the names of the columns. Not standardised.

    log(1 + degree) (of both directions, if they differ), the same of the neighbours on average, and the square root of
    the probability that a random walk of 2..8 steps ends where it began. With :math:`S = D^{-1/2}AD^{-1/2}` and random
    signs z these returns are :math:`(S^{a+b})_{ii} = E\,(S^a z)_i (S^b z)_i`: for an even number of steps a mean of
    squares, so that its error is relative.

    Args:
        edge_index: edges, 2 × m.
        num_nodes: n.
        directed: whether both directions of an edge are told apart.
        seed: seed of the random signs.
        graph_id: in a set of graphs, the graph of each node (n, sorted); a graph's roles then do not depend on the
            others, and are exact for graphs of up to 64 nodes.
    """
    edge_index = edge_index.cpu()
    graph = Graph.from_edges(edge_index, num_nodes)
    degree = graph.weighted_degree
    neighbor_degree = (graph.mean @ degree.unsqueeze(1)).squeeze(1)
    columns, names = [degree.log1p(), neighbor_degree.log1p()], ["degree", "neighbours' degree"]
    if directed:
        sources, targets = Graph.from_edges(edge_index, num_nodes, directed=True).edge_index
        for ends, name in ((targets, "in-degree"), (sources, "out-degree")):
            columns.append(torch.bincount(ends, minlength=num_nodes).double().log1p())
            names.append(name)
    scale = degree.clamp(min=1).rsqrt().unsqueeze(1)
    walks = [torch.from_numpy(_probes(num_nodes, seed, graph_id))]
    for steps in range(2, MAX_STEPS + 1):
        half = steps - steps // 2
        if len(walks) <= half:
            walks.append(scale * (graph.sum @ (scale * walks[-1])))
        returns = torch.linalg.vecdot(walks[steps // 2], walks[half]) / PROBES
        columns.append(returns.clamp(min=0).sqrt())
        names.append(f"returns after {steps} steps")
    return torch.stack(columns, 1).float().numpy(), names


def _probes(num_nodes: int, seed: int, graph_id: Tensor | None) -> Array:
    """Random signs, n × 64; in a set of graphs the same for each, and unit vectors for graphs of up to 64 nodes."""
    sizes = np.array([num_nodes]) if graph_id is None else np.bincount(graph_id.cpu().numpy())
    signs = np.random.default_rng(seed).integers(0, 2, size=(int(sizes.max(initial=0)), PROBES), dtype=np.int8)
    probes = (2 * signs - 1).astype(np.float32)
    if graph_id is None:
        return probes
    within = np.arange(num_nodes) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # the node's number in its graph
    probes = probes[within]
    small = np.repeat(sizes <= PROBES, sizes)
    probes[small] = np.float32(np.sqrt(PROBES)) * np.eye(PROBES, dtype=np.float32)[within[small]]
    return probes


def positions(
    edge_index: Tensor, num_nodes: int, count: int | None = None, edge_weight: Tensor | None = None, seed: int = 0
) -> Array:
    r"""The position of each node: leading eigenvectors of the regularised normalised adjacency matrix (n × count).

    .. math:: D_\tau^{-1/2}\,(A + \tfrac{\tau}{n} 1 1^\top)\,D_\tau^{-1/2}, \qquad D_\tau = D + \tau,

    with τ the mean degree (Amini et al., 2013): without it each small component would take an eigenvector for itself.
    They are good to a few digits, which is enough for features. Columns have mean square 1. The first eigenvector,
    which is the degree, is left out. Columns that a small graph lacks are zero.

    Args:
        edge_index: edges, 2 × m; their direction does not matter.
        num_nodes: n.
        count: columns; 128 if not given, 64 for more than 200,000 nodes.
        edge_weight: weights of the edges.
        seed: seed of the random start.
    """
    count = count or (POSITIONS if num_nodes <= LARGE else POSITIONS_LARGE)
    out = np.zeros((num_nodes, count), np.float32)
    if num_nodes < 3:
        return out
    edge_weight = None if edge_weight is None else edge_weight.cpu()
    graph = Graph.from_edges(edge_index.cpu(), num_nodes, edge_weight=edge_weight)
    if not graph.adjacency.values().numel():
        return out
    tau = float(graph.weighted_degree.mean())
    scale = (graph.weighted_degree + tau).rsqrt().unsqueeze(1)

    def product(z: Tensor) -> Tensor:
        z = scale * z
        return graph.sum.product(z).add_(z.sum(0), alpha=tau / num_nodes).mul_(scale)

    start = np.random.default_rng(seed).normal(size=(num_nodes, min(count + OVERSAMPLE, num_nodes)))
    basis = torch.from_numpy(start.astype(np.float32))
    # (M + I) / 2 has eigenvalues from 0 to 1, so that the negative ones of M do not come first.
    basis = iterate_subspace(lambda z: product(z).add_(z).mul_(0.5), basis, PRODUCTS, INTERVAL)
    rotation = leading_rotation(basis.T @ product(basis), basis, count + 1)[:, 1:]
    out[:, : rotation.shape[1]] = (basis @ rotation).numpy() * np.sqrt(num_nodes)
    return out


@dataclass(frozen=True)
class StructureEncoding:
    """How columns are computed from a graph; those of another graph are standardised as on the training graph."""

    structure: Literal["roles", "positions", "both"]
    mean: tuple[float, ...] = ()
    """Of the columns of roles."""
    std: tuple[float, ...] = ()
    """Their standard deviations."""

    @classmethod
    def fit(
        cls,
        structure: Structure,
        edge_index: Tensor,
        num_nodes: int,
        directed: bool,
        edge_weight: Tensor | None,
        seed: int = 0,
        count: int | None = None,
        graph_id: Tensor | None = None,
    ) -> tuple[StructureEncoding, Array, list[str]]:
        """The encoding of a graph, its columns (n × k) and their names; ``count`` of them are positions.

        In a set of graphs, ``graph_id`` is the graph of each node.
        """
        if structure not in ("roles", "positions", "both"):
            raise InputError(f"structure: given {structure!r}, expected roles, positions or both")
        if graph_id is not None and structure != "roles":
            raise InputError(
                f"structure: given {structure} for a set of graphs, expected roles: a position in one graph says "
                "nothing about another graph"
            )
        encoding = cls(structure)
        blocks: list[Array] = []
        names: list[str] = []
        if structure != "positions":
            x, names = roles(edge_index, num_nodes, directed, seed, graph_id)
            mean, std = x.mean(axis=0), x.std(axis=0)
            std[std <= 1e-6 * np.maximum(np.abs(x).max(axis=0), 1e-30)] = 1  # a constant column stays zero
            encoding = cls(structure, tuple(mean.tolist()), tuple(std.tolist()))
            blocks.append((x - mean) / std)
        if structure != "roles":
            blocks.append(positions(edge_index, num_nodes, count, edge_weight, seed))
            names = names + [f"position {i + 1}" for i in range(blocks[-1].shape[1])]
        return encoding, np.concatenate(blocks, axis=1), names

    def apply(
        self, edge_index: Tensor, num_nodes: int, directed: bool, seed: int = 0, graph_id: Tensor | None = None
    ) -> Array:
        """The columns of another graph, standardised as those of the first."""
        if self.structure != "roles":
            raise InputError(
                "model: it was trained on positions in its own graph, which say nothing about another graph. Train on "
                "this one, or train the model with --structure roles, or with a node table"
            )
        x, names = roles(edge_index, num_nodes, directed, seed, graph_id)
        if len(names) != len(self.mean):
            raise InputError("directed: the model was trained on a graph of the other kind, expected the same kind")
        return ((x - np.array(self.mean, np.float32)) / np.array(self.std, np.float32)).astype(np.float32)

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> StructureEncoding:
        """From the output of :meth:`to_dict`."""
        return cls(values["structure"], tuple(values["mean"]), tuple(values["std"]))
