r"""Hidden columns and edges: a graph with a part of it taken away, and that part as something to explain.

A representation of the visible part is good if it explains the hidden part. This needs no labels, and it cannot be
passed by copying: what is to be explained is not there to copy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from girl.graph.batch import Batch
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.graph.positions import positions
from girl.graph.subspace import OVERSAMPLE, iterate_subspace, leading_rotation
from girl.kernel.sparse import SparseMatrix, to_csr

#: The fraction of the columns and of the edges that is hidden. With more, the visible part would be a poorer graph than
#: the complete one, on which own features and near neighbours would count for less than they should.
HIDDEN = 0.25
#: Fewer groups of columns than this cannot be divided: a large part of the information would be missing.
MIN_GROUPS = 8
#: Columns count as copies of each other from this absolute correlation on.
COPIES = 0.98
#: Columns that represent each hidden part: principal components, and positions.
COMPONENTS = 128
#: Products that find them by subspace iteration, where all components would take time cubic in the rows.
PRODUCTS = 6
#: Random vectors of the sketch that finds copies, rows it reads, and the columns above which it is not made.
SKETCH, SKETCH_ROWS, MAX_COLUMNS = 32, 4096, 20_000

#: What may be explained, and how much each counts: as much as a node itself, its surroundings, in two forms.
TARGETS = {"columns": 1.0, "neighbors": 0.5, "positions": 0.5}
#: Each target in words.
TARGET_TEXT = {
    "columns": "hidden feature columns",
    "neighbors": "features of hidden neighbours",
    "positions": "positions by hidden edges",
}


@dataclass(frozen=True)
class HiddenTask:
    """The visible part of a graph, and what is to be explained by a representation of it."""

    visible: Batch
    """All nodes, the visible edges, and the features with the hidden columns set to zero."""
    rows: Tensor
    """The nodes at which targets are explained."""
    targets: dict[str, Tensor]
    """By name (see :data:`TARGETS`), a matrix with a row for each of ``rows``."""


def hide(data: Batch, features: NodeFeatures | None, groups: Tensor | None, rows: int, seed: int) -> HiddenTask:
    """Hide a quarter of the columns and a quarter of the edges.

    Args:
        data: the graph.
        features: its features on the scale on which they are to be explained; None if they are not.
        groups: the group of each column (d): see :func:`column_groups`.
        rows: at most this many nodes are explained.
        seed: seed of every random choice.
    """
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.randperm(data.num_nodes, generator=generator)[:rows].to(data.graph.device)
    shown, hidden = divide_edges(data.graph, generator)
    visible = replace(data, graph=shown)
    targets = {}
    if features is not None and groups is not None:
        if int(groups.max()) + 1 >= MIN_GROUPS:
            keep = divide_columns(groups, generator)
            visible = replace(visible, x=data.x.select_columns(keep))
            targets["columns"] = _components(features.rows(chosen).select_columns(~keep))
        targets["neighbors"] = _components(_average(hidden.mean.rows(chosen), features))
    targets["positions"] = positions(hidden, COMPONENTS, seed)[chosen]
    targets = {name: target for name, target in targets.items() if float(target.var(0, correction=0).sum()) > 1e-12}
    return HiddenTask(visible, chosen, targets)


def divide_edges(graph: Graph, generator: torch.Generator) -> tuple[Graph, Graph]:
    """The graph with the visible edges, and with the hidden ones."""
    visible = torch.rand(graph.num_undirected, generator=generator).to(graph.device) >= HIDDEN
    mask = visible[graph.undirected_id]
    return graph.select_edges(mask), graph.select_edges(~mask)


def divide_columns(groups: Tensor, generator: torch.Generator) -> Tensor:
    """A mask of the visible columns (d)."""
    count = int(groups.max()) + 1
    visible = torch.ones(count, dtype=torch.bool)
    visible[torch.randperm(count, generator=generator)[: round(HIDDEN * count)]] = False
    return visible.to(groups.device)[groups]


def column_groups(data: Batch) -> Tensor:
    """The group of each feature column (d): columns of one group are hidden together.

    Columns that were made from one column of a table are a group, as :attr:`Batch.column_group` says. So are columns
    that are nearly copies of each other: if one were hidden and the other visible, everything would look explained.
    """
    d = data.x.shape[1]
    groups = torch.arange(d) if data.column_group is None else data.column_group.cpu()
    if d > MAX_COLUMNS:
        return torch.unique(groups, return_inverse=True)[1]
    pairs = _copied_columns(data)
    ends = np.concatenate([pairs, np.stack([np.arange(d), d + groups.numpy()])], 1)
    size = d + int(groups.max()) + 1
    graph = scipy.sparse.coo_matrix((np.ones(ends.shape[1], np.int8), (ends[0], ends[1])), shape=(size, size))
    labels = scipy.sparse.csgraph.connected_components(graph, directed=False)[1][:d]
    return torch.unique(torch.from_numpy(labels), return_inverse=True)[1]


def _copied_columns(data: Batch) -> Any:
    """Pairs of columns (2 × pairs) with a correlation of about :data:`COPIES` or more, up to the sign.

    Correlations are first estimated from a sketch of each column, then computed for the pairs that may be copies.
    """
    n = data.num_nodes
    rows = torch.randperm(n, generator=torch.Generator().manual_seed(0))[: min(n, SKETCH_ROWS)]
    sample = data.x.rows(rows.to(data.x.device))
    signs = torch.randint(0, 2, (len(rows), SKETCH), generator=torch.Generator().manual_seed(1)) * 2.0 - 1
    signs = (signs - signs.mean(0)).to(data.x.device)
    sketch = sample.t_matmul(signs)  # d × SKETCH, of the centred columns
    sketch = torch.nn.functional.normalize(sketch).cpu()
    candidates = []
    for start in range(0, len(sketch), 1024):
        close = (sketch[start : start + 1024] @ sketch.T).abs() > COPIES - 0.05
        first, second = close.nonzero().T
        first = first + start
        candidates.append(torch.stack([first, second])[:, first < second])
    pairs = torch.cat(candidates, 1)
    if pairs.shape[1] == 0:
        return pairs.numpy()
    keep = []
    for block in pairs.split(65_536, 1):
        used, index = torch.unique(block, return_inverse=True)
        columns = sample.columns(used).double()
        columns = columns - columns.mean(0)
        columns = torch.nn.functional.normalize(columns, dim=0)
        correlation = (columns[:, index[0]] * columns[:, index[1]]).sum(0)
        keep.append(block[:, correlation.abs().cpu() > COPIES])
    return torch.cat(keep, 1).numpy()


def _average(weights: SparseMatrix, features: NodeFeatures) -> NodeFeatures:
    """Weighted means of the features, a row for each row of ``weights``; sparse features stay sparse."""
    if features.sparse is None or features.offset is not None or features.device.type != "cpu":
        return NodeFeatures(dense=features.aggregate(weights))
    return NodeFeatures.from_tensor(to_csr(weights.as_scipy @ features.sparse.as_scipy))


def _components(features: NodeFeatures) -> Tensor:
    """The principal components (m × at most 128) of the rows, from their inner products: sparse rows stay sparse."""
    if features.sparse is None:
        gram = features.dense() @ features.dense().T
    else:
        gram = features.sparse.matmul_sparse(SparseMatrix(features.sparse.transpose))
    gram = gram - gram.mean(0)
    gram = gram - gram.mean(1, keepdim=True)
    width = COMPONENTS + OVERSAMPLE
    if len(gram) <= width or float(gram.diagonal().sum()) <= 1e-12:
        basis = torch.eye(len(gram), device=gram.device)[:, :width]
    else:
        start = torch.randn(len(gram), width, generator=torch.Generator().manual_seed(0))
        basis = iterate_subspace(gram.__matmul__, start.to(gram.device), PRODUCTS)
    projected = basis.T @ (gram @ basis)
    vectors = leading_rotation(projected, basis, COMPONENTS)  # in the basis
    values = torch.linalg.vecdot(vectors, projected @ vectors, dim=0)
    return basis @ (vectors * values.clamp(min=0).sqrt())
