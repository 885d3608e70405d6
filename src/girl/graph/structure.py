r"""What a graph without features says about its nodes: a node's role, and where it is; linear in the edges.

Roles (degrees, random walks that return) mean the same in every graph, positions (eigenvectors) only in their own.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from torch import Tensor

from girl.errors import InputError

Structure = Literal["auto", "none", "roles", "positions", "both"]
STRUCTURES = get_args(Structure)

#: The longest random walk whose returns are counted.
WALK = 8
#: Random vectors that estimate the returns; the error of a return over an even number of steps is √(2/probes) of it.
PROBES = 64
#: Columns of positions, and of those of a graph with more than LARGE nodes.
POSITIONS, POSITIONS_LARGE, LARGE = 128, 64, 200_000
#: Products with the graph, and how many of them go between two orthogonalisations.
PRODUCTS, BETWEEN = 20, 4
#: Columns that are iterated beyond those that are wanted: they make the wanted ones converge faster.
SPARE = 16

Array = NDArray[np.float32]


def adjacency_of(edge_index: Tensor, nodes: int, weight: Tensor | None = None) -> Any:
    """The undirected graph as scipy's CSR matrix of float32: no loops, every edge once, the largest of its weights."""
    source, target = edge_index.cpu().numpy()
    values = np.ones(len(source), np.float32) if weight is None else weight.cpu().numpy().astype(np.float32)
    keep = source != target
    values = values / max(float(values[keep].mean()), 1e-30) if keep.any() else values
    half = scipy.sparse.csr_matrix((values[keep], (source[keep], target[keep])), shape=(nodes, nodes))
    if weight is None:
        half.data[:] = 1  # edges given twice were added up
    return half.maximum(half.T).tocsr()


def roles(
    edge_index: Tensor, nodes: int, directed: bool = False, seed: int = 0, graph: Tensor | None = None
) -> tuple[Array, list[str]]:
    r"""What a node's role is in any graph (n × k), and the names of the columns. Not yet standardised.

    log(1 + degree) (of both directions, if they differ), the same of the neighbours on average, and the square root of
    the probability that a random walk of 2..8 steps ends where it began. With :math:`S = D^{-1/2}AD^{-1/2}` and random
    signs z these returns are :math:`(S^{a+b})_{ii} = E\,(S^a z)_i (S^b z)_i`: for an even number of steps a mean of
    squares, so that its error is relative.

    Args:
        edge_index: edges, 2 × m.
        nodes: n.
        directed: whether both directions of an edge are told apart.
        seed: fixes the random signs.
        graph: of a set of graphs, which of them each node is of (n, sorted); a graph's roles then do not depend on the
            others, and are exact for graphs of up to 64 nodes.
    """
    adjacency = adjacency_of(edge_index, nodes)
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    around = np.asarray(adjacency @ degree) / np.maximum(degree, 1)
    columns, names = [np.log1p(degree), np.log1p(around)], ["degree", "neighbours' degree"]
    if directed:
        for place, name in ((1, "in-degree"), (0, "out-degree")):
            columns.append(np.log1p(np.bincount(edge_index[place].cpu().numpy(), minlength=nodes)))
            names.append(name)
    scale = (1 / np.sqrt(np.maximum(degree, 1))).astype(np.float32)[:, None]
    walked = [_probes(nodes, seed, graph)]
    for steps in range(2, WALK + 1):
        half = steps - steps // 2
        if len(walked) <= half:
            walked.append(scale * (adjacency @ (scale * walked[-1])))
        returns = np.einsum("ij,ij->i", walked[steps // 2], walked[half]) / PROBES
        columns.append(np.sqrt(np.clip(returns, 0, None)))
        names.append(f"returns after {steps} steps")
    return np.stack(columns, axis=1).astype(np.float32), names


def _probes(nodes: int, seed: int, graph: Tensor | None) -> Array:
    """Random signs, n × 64; of a set of graphs the same for each, and unit vectors where they are small enough."""
    sizes = np.array([nodes]) if graph is None else np.bincount(graph.cpu().numpy())
    signs = np.random.default_rng(seed).integers(0, 2, size=(int(sizes.max(initial=0)), PROBES), dtype=np.int8)
    found = (2 * signs - 1).astype(np.float32)
    if graph is None:
        return found
    place = np.arange(nodes) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    found = found[place]
    small = np.repeat(sizes <= PROBES, sizes)
    found[small] = np.float32(np.sqrt(PROBES)) * np.eye(PROBES, dtype=np.float32)[place[small]]
    return found


def positions(
    edge_index: Tensor, nodes: int, count: int | None = None, weight: Tensor | None = None, seed: int = 0
) -> Array:
    r"""Where a node is: leading eigenvectors of the regularised normalised adjacency matrix, n × count, of spread 1.

    .. math:: D_\tau^{-1/2}\,(A + \tfrac{\tau}{n} 1 1^\top)\,D_\tau^{-1/2}, \qquad D_\tau = D + \tau,

    with τ the mean degree (Amini et al., 2013): without it each small component would take an eigenvector for itself.
    Found by subspace iteration from a random start, and good to a few digits, which is enough for features. The first
    eigenvector, which is the degree, is left out; the largest entry of each is made positive. Columns that a small
    graph lacks are zero.

    Args:
        edge_index: edges, 2 × m; their direction does not matter.
        nodes: n.
        count: columns; 128 if not given, 64 for more than 200,000 nodes.
        weight: weights of the edges.
        seed: fixes the random start.
    """
    count = count or (POSITIONS if nodes <= LARGE else POSITIONS_LARGE)
    adjacency = adjacency_of(edge_index, nodes, weight)
    out = np.zeros((nodes, count), np.float32)
    if nodes < 3 or not adjacency.nnz:
        return out
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    tau = float(degree.mean())
    scale = (1 / np.sqrt(degree + tau)).astype(np.float32)[:, None]

    def product(z: Array) -> Array:
        z = scale * z
        found: Array = scale * (adjacency @ z + np.float32(tau / nodes) * z.sum(axis=0))
        return found

    z = np.random.default_rng(seed).normal(size=(nodes, min(count + SPARE, nodes))).astype(np.float32)
    for step in range(PRODUCTS):
        # Half of it, and half of what it was: eigenvalues from 0 to 1, so that the negative ones do not come first.
        z = np.float32(0.5) * (product(z) + z)
        if (step + 1) % BETWEEN == 0:
            z = _orthogonal(z)
    middle = z.T @ product(z)
    values, vectors = np.linalg.eigh((middle + middle.T).astype(np.float64) / 2)
    order = np.argsort(-values)[1 : count + 1]
    found = (z @ vectors[:, order].astype(np.float32)) * np.float32(np.sqrt(nodes))
    found *= np.sign(found[np.abs(found).argmax(axis=0), np.arange(found.shape[1])])
    out[:, : found.shape[1]] = found
    return out


def _orthogonal(z: Array) -> Array:
    """An orthonormal basis of the columns, by the Gram matrix: two products of n × b instead of a QR of that size."""
    for _ in range(2):  # the second time mends what rounding left
        gram = (z.T @ z).astype(np.float64)
        values, vectors = np.linalg.eigh(gram)
        keep = values > 1e-7 * values[-1]
        z = z @ (vectors[:, keep] / np.sqrt(values[keep])).astype(np.float32)
    return z


@dataclass(frozen=True)
class StructureEncoding:
    """Columns made from the graph itself, standardised as they were on the graph that was trained on."""

    structure: Literal["roles", "positions", "both"]
    mean: tuple[float, ...] = ()
    """Of the columns of roles."""
    spread: tuple[float, ...] = ()

    @classmethod
    def fit(
        cls,
        structure: Structure,
        edge_index: Tensor,
        nodes: int,
        directed: bool,
        weight: Tensor | None,
        seed: int = 0,
        count: int | None = None,
        graph: Tensor | None = None,
    ) -> tuple[StructureEncoding, Array, list[str]]:
        """The encoding of a graph, its columns (n × k) and their names; ``count`` of them are positions.

        Of a set of graphs, ``graph`` says which of them each node is of.
        """
        if structure not in ("roles", "positions", "both"):
            raise InputError(f"structure: given {structure!r}, expected roles, positions or both")
        if graph is not None and structure != "roles":
            raise InputError(
                f"structure: given {structure} for a set of graphs, expected roles: a position in one graph says "
                "nothing about another graph"
            )
        made = cls(structure)
        blocks: list[Array] = []
        names: list[str] = []
        if structure != "positions":
            x, names = roles(edge_index, nodes, directed, seed, graph)
            spread = x.std(axis=0)
            constant = spread <= 1e-6 * np.maximum(np.abs(x).max(axis=0), 1e-30)
            spread[constant] = 1
            made = cls(structure, tuple(x.mean(axis=0).tolist()), tuple(spread.tolist()))
            blocks.append((x - x.mean(axis=0)) / spread)
        if structure != "roles":
            blocks.append(positions(edge_index, nodes, count, weight, seed))
            names = names + [f"position {i + 1}" for i in range(blocks[-1].shape[1])]
        return made, np.concatenate(blocks, axis=1), names

    def apply(
        self, edge_index: Tensor, nodes: int, directed: bool, seed: int = 0, graph: Tensor | None = None
    ) -> Array:
        """The columns of another graph, standardised as those of the first."""
        if self.structure != "roles":
            raise InputError(
                "model: it was trained on positions in its own graph, which say nothing about another graph. Train on "
                "this one, or train the model with --structure roles, or with a node table"
            )
        x, names = roles(edge_index, nodes, directed, seed, graph)
        if len(names) != len(self.mean):
            raise InputError("directed: the model was trained on a graph of the other kind, expected the same kind")
        return ((x - np.array(self.mean, np.float32)) / np.array(self.spread, np.float32)).astype(np.float32)

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> StructureEncoding:
        """From what :meth:`to_dict` gave."""
        return cls(values["structure"], tuple(values["mean"]), tuple(values["spread"]))
