r"""Bands of a set of graphs: views of a whole graph, none of which needs training, with a row for each graph.

Most of them describe how the nodes of a graph are distributed: by their features (``bag``), by the features around them
(``hop0`` to ``hop3``), by their place (``roles``), or by the exact look of their surroundings (``colors0`` to
``colors4``, Weisfeiler-Lehman colours). Which of them count, and how much, is chosen for each set: see
:mod:`girl.methods.graph_bands`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import scipy.sparse
import torch
from torch import Tensor, nn

from girl.graph.batch import Batch
from girl.graph.colors import COLUMNS, Colors, count_columns, refine, row_colors
from girl.graph.feature_scaling import FeatureScaling
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.graph.subspace import principal_directions
from girl.kernel.features import orthogonal_frequencies
from girl.kernel.sparse import to_csr, to_scipy

#: Steps up to which features around a node are summed, and up to which colours are refined.
HOPS, DEPTH = 3, 4
#: Every band, and what it tells of a graph.
SET_BANDS: dict[str, str] = {
    "size": "how many nodes and edges it has",
    "bag": "the sum of its nodes' features",
    "roles": "what its nodes' places look like: degrees, returning walks",
    "hop0": "how its nodes' features are distributed",
    **{f"hop{k}": f"how features around its nodes are distributed, up to {k} steps" for k in range(1, HOPS + 1)},
    "colors0": "how often each row of features occurs",
    **{f"colors{k}": f"how often each surrounding of {k} step{'s' * (k > 1)} occurs" for k in range(1, DEPTH + 1)},
}
#: Which bands of a hidden region are explained, and how much each counts.
SET_TARGETS = {"hop1": 1.0, "roles": 0.5, "colors2": 2.0}
#: Each target in words.
SET_TARGET_TEXT = {
    "hop1": "features around hidden nodes",
    "roles": "roles of hidden nodes",
    "colors2": "surroundings of hidden nodes",
}
#: Bands that a set without features does not have.
FROM_FEATURES = ("bag", "hop0", "colors0")
#: More feature columns than this are replaced by their principal components.
RANK = 128
#: Kernel features whose mean describes a distribution, and the kernel's width in units of the mean squared distance.
KERNEL_COLUMNS, KERNEL_WIDTH = 256, 0.3
#: Columns of a node's roles.
ROLES = 8
#: Centres of the bumps that describe log(1 + size), and their width.
SIZE_CENTERS, SIZE_WIDTH = tuple(0.5 * step for step in range(28)), 0.7
#: Rows of features count as colours if at most this fraction of them is different, or at most so many.
DISTINCT, FEW = 0.1, 64
#: Otherwise a colour is on which side of this many random planes a row lies.
PLANES = 6
#: Features are rounded to multiples of one over this before they are compared.
PRECISION = 1024.0


class KernelMean(nn.Module):
    r"""How the rows u of a graph's n nodes are distributed: :math:`\frac1{\sqrt n}\sum_v\varphi(u_v)`.

    φ are random Fourier features of a Gaussian kernel on standardised columns. The sum is divided by √n and not by n:
    features of unrelated nodes add up as √n, so that large and small graphs have the same variance, and the size is
    not lost. See also :class:`girl.nn.readout.KernelReadout`.
    """

    frequencies: Tensor
    center: Tensor
    factor: Tensor

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.register_buffer("frequencies", torch.zeros(columns, KERNEL_COLUMNS // 2))
        self.register_buffer("center", torch.zeros(columns))
        self.register_buffer("factor", torch.ones(columns))

    def fit(self, rows: Tensor, generator: torch.Generator) -> None:
        """Draw the frequencies, and learn means and scales of the columns from the nodes of a set (n × columns)."""
        columns = rows.shape[1]
        frequencies = orthogonal_frequencies(columns, KERNEL_COLUMNS // 2, generator, rows.device)
        self.frequencies.copy_(frequencies)
        variance, center = torch.var_mean(rows, 0, correction=0)
        varies = variance > 1e-8 * variance.max()
        # The mean squared distance of standardised rows is twice the number of columns that vary.
        distance = KERNEL_WIDTH * varies.sum().clamp(min=1)
        self.center.copy_(center)
        self.factor.copy_(torch.where(varies, (variance.clamp(min=1e-30) * distance).rsqrt(), 0.0))

    def forward(self, rows: Tensor, data: Batch) -> Tensor:
        """The distribution of the rows in each graph, num_graphs × 256."""
        angles = ((rows - self.center) * self.factor) @ self.frequencies
        sums = data.pool(torch.cat([angles.cos(), angles.sin()], 1), "sum")
        return sums / _sizes(data).clamp(min=1).sqrt().unsqueeze(1)


class SetBands(nn.Module):
    """Computes the bands of a set of graphs, and of other sets in the same way.

    Args:
        inputs: number of feature columns; 0 if there are none.
    """

    directions: Tensor
    planes: Tensor
    plane_center: Tensor
    exact: Tensor

    def __init__(self, inputs: int) -> None:
        super().__init__()
        rank = min(inputs, RANK)
        self.inputs = inputs
        self.scaling = FeatureScaling(inputs)
        self.hops = nn.ModuleList(KernelMean(rank + 1) for _ in range(HOPS + 1))
        self.roles = KernelMean(ROLES)
        self.register_buffer("directions", torch.eye(inputs, rank))
        self.register_buffer("planes", torch.zeros(rank, PLANES))
        self.register_buffer("plane_center", torch.zeros(rank))
        self.register_buffer("exact", torch.tensor(True))

    @property
    def widths(self) -> dict[str, int]:
        """The number of columns of each band."""
        widths = dict.fromkeys(SET_BANDS, KERNEL_COLUMNS)
        widths |= {name: COLUMNS for name in SET_BANDS if name.startswith("colors")}
        return widths | {"size": 2 * len(SIZE_CENTERS), "bag": self.directions.shape[1]}

    @torch.no_grad()
    def fit(self, data: Batch, generator: torch.Generator) -> None:
        """Learn how features are scaled and compared from a set of graphs."""
        if self.inputs:
            self.scaling.fit(data.x)
            x = self.scaling(data.x)
            rank = self.directions.shape[1]
            if rank < self.inputs:
                shape = (data.num_nodes, self.inputs)
                found = principal_directions(x.__matmul__, x.t_matmul, shape, min(rank, data.num_nodes), generator)[0]
                self.directions.zero_()
                self.directions[:, : found.shape[1]] = found
            rows = x @ self.directions
            std, mean = torch.std_mean(rows, 0, correction=0)
            noise = torch.randn(self.planes.shape, generator=generator, device=generator.device)
            self.planes.copy_(noise / std.clamp(min=1e-6).unsqueeze(1) * (std > 1e-6).unsqueeze(1))
            self.plane_center.copy_(mean)
            distinct = len(np.unique(row_colors(rounded(data.x))))
            self.exact.fill_(distinct <= max(DISTINCT * data.num_nodes, FEW))
        for step, rows in enumerate(self._hops(data)):
            self._hop(step).fit(rows, generator)
        self.roles.fit(node_roles(data.graph), generator)

    @torch.no_grad()
    def iter_bands(self, data: Batch, names: Collection[str]) -> Iterator[tuple[str, Tensor]]:
        """The bands called ``names``, one at a time, each num_graphs × its width; CSR for colours, else dense."""
        if "size" in names:
            yield "size", size_bumps(data)
        if "bag" in names:
            sums = data.pool(self.scaling(data.x) @ self.directions, "sum")
            yield "bag", sums.sign() * sums.abs().sqrt()
        if "roles" in names:
            yield "roles", self.roles(node_roles(data.graph), data)
        if any(name.startswith("hop") for name in names):
            for step, rows in enumerate(self._hops(data)):
                if f"hop{step}" in names:
                    yield f"hop{step}", self._hop(step)(rows, data)
        depths = [int(name.removeprefix("colors")) for name in names if name.startswith("colors")]
        if depths:
            assert data.graph_id is not None
            graph_id = data.graph_id.cpu().numpy()
            colors = self._colors(data)
            for depth in range(max(depths) + 1):
                if depth in depths:
                    counts = count_columns(colors, graph_id, data.num_graphs)
                    yield f"colors{depth}", to_csr(counts).to(data.graph.device)
                if depth < max(depths):
                    colors = refine(colors, data.graph)

    def _hop(self, step: int) -> KernelMean:
        module = self.hops[step]
        assert isinstance(module, KernelMean)
        return module

    def _hops(self, data: Batch) -> Iterator[Tensor]:
        r"""Logarithms of :math:`(I+A)^k[X, 1]` for k = 0 to 3, n × (rank + 1)."""
        rows = torch.ones(data.num_nodes, 1, device=data.graph.device)
        if self.inputs:
            rows = torch.cat([self.scaling(data.x) @ self.directions, rows], 1)
        for step in range(HOPS + 1):
            yield rows.sign() * rows.abs().log1p()
            if step < HOPS:
                rows = rows + data.graph.sum @ rows

    def _colors(self, data: Batch) -> Colors:
        """The colours of the nodes at depth 0."""
        if not self.inputs:
            return np.zeros(data.num_nodes, np.uint64)
        if bool(self.exact):
            return row_colors(rounded(data.x))
        rows = self.scaling(data.x) @ self.directions
        sides = ((rows - self.plane_center) @ self.planes) > 0
        return row_colors(scipy.sparse.csr_matrix(sides.cpu().numpy().astype(np.int64)))


def node_roles(graph: Graph) -> Tensor:
    r"""What the place of each node looks like (n × 8), the same whatever the order of the nodes.

    The logarithm of the degree, and square roots of the probability that a walk is back after 2, 3 and 4 steps; then
    the means of these four over the neighbours. With :math:`S = D^{-1/2}AD^{-1/2}` they are the diagonals of
    :math:`S^2, S^3, S^4`.
    """
    undirected = graph if graph.symmetric else graph.undirected()
    adjacency = to_scipy(undirected.adjacency.cpu()).astype(np.float64)
    adjacency.data[:] = 1.0
    degree = np.diff(adjacency.indptr)
    scale = scipy.sparse.diags(1 / np.sqrt(np.maximum(degree, 1)))
    walk = (scale @ adjacency @ scale).tocsr()
    two = (walk @ walk).tocsr()
    returns = [
        two.diagonal(),
        np.asarray(two.multiply(walk).sum(1)).ravel(),
        np.asarray(two.multiply(two).sum(1)).ravel(),
    ]
    own = np.stack([np.log1p(degree), *(np.sqrt(np.maximum(values, 0)) for values in returns)], 1)
    around = scipy.sparse.diags(1 / np.maximum(degree, 1)) @ (adjacency @ own)
    return torch.from_numpy(np.concatenate([own, around], 1)).float().to(graph.device)


def size_bumps(data: Batch) -> Tensor:
    """The numbers of nodes and edges of each graph as smooth bumps of their logarithms (num_graphs × 56)."""
    assert data.graph_id is not None
    edges = torch.bincount(data.graph_id[data.graph.edge_target], minlength=data.num_graphs)
    centers = torch.tensor(SIZE_CENTERS, device=data.graph.device)
    bumps = [
        torch.exp(-((counts.float().log1p().unsqueeze(1) - centers) / SIZE_WIDTH).square() / 2)
        for counts in (_sizes(data), edges)
    ]
    return torch.cat(bumps, 1)


def _sizes(data: Batch) -> Tensor:
    """The number of nodes of each graph."""
    assert data.graph_id is not None
    return torch.bincount(data.graph_id, minlength=data.num_graphs).float()


def rounded(x: NodeFeatures) -> scipy.sparse.csr_matrix:
    """The features in units of 1 / 1024, rounded."""
    if x.sparse is not None and x.offset is None:
        rows = to_scipy(x.sparse.tensor.cpu()).copy()
    else:
        rows = scipy.sparse.csr_matrix(x.dense().cpu().numpy())
    return scipy.sparse.csr_matrix((np.rint(rows.data * PRECISION), rows.indices, rows.indptr), shape=rows.shape)
