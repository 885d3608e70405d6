from __future__ import annotations

import pytest
import scipy.sparse
import torch

from girl.graph.batch import Batch
from girl.graph.graph import Graph
from girl.graph.hidden import HIDDEN, MIN_GROUPS, column_groups, divide_columns, divide_edges, hide
from girl.graph.node_features import NodeFeatures
from girl.kernel.sparse import to_csr


def batch(x, groups=None, seed=0):
    n = len(x)
    edges = torch.randint(n, (2, 4 * n), generator=torch.Generator().manual_seed(seed))
    return Batch(NodeFeatures.from_tensor(x), Graph.from_edges(edges, n), column_group=groups)


def noise(n=200, d=20, seed=0):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("sparse", [False, True])
def test_copies_and_near_copies_are_hidden_together(sparse):
    x = noise()
    x[:, 7], x[:, 8], x[:, 9] = x[:, 2], -3 * x[:, 2] + 1, x[:, 3] + 0.01 * x[:, 4]
    if sparse:
        x = to_csr(scipy.sparse.csr_matrix(x.numpy()))
    groups = (
        column_groups(batch(x))
        if not sparse
        else column_groups(Batch(NodeFeatures.from_tensor(x), batch(noise()).graph))
    )
    assert groups[2] == groups[7] == groups[8]
    assert groups[3] == groups[9]
    assert int(groups.max()) + 1 == 17


def test_columns_of_one_value_are_hidden_together():
    given = torch.arange(20) // 2
    groups = column_groups(batch(noise(), given))
    assert torch.equal(groups[::2], groups[1::2])
    keep = divide_columns(groups, torch.Generator().manual_seed(0))
    assert torch.equal(keep[::2], keep[1::2])
    assert keep.sum() == 16


def test_visible_and_hidden_edges_are_the_graph():
    graph = batch(noise()).graph
    first, second = divide_edges(graph, torch.Generator().manual_seed(0))
    assert torch.equal((first.adjacency.to_dense() + second.adjacency.to_dense()), graph.adjacency.to_dense())
    for part, fraction in ((first, 1 - HIDDEN), (second, HIDDEN)):
        dense = part.adjacency.to_dense()
        assert torch.equal(dense, dense.T)
        assert abs(float(dense.sum() / graph.adjacency.to_dense().sum()) - fraction) < 0.1


def test_hidden_columns_are_not_visible():
    data = batch(noise())
    task = hide(data, data.x, column_groups(data), rows=50, seed=1)
    visible = task.visible.x.dense()
    shown = (visible != 0).any(0)
    assert shown.sum() == 15
    assert torch.equal(visible[:, shown], data.x.dense()[:, shown])
    assert set(task.targets) == {"columns", "neighbors", "positions"}
    hidden = data.x.dense()[task.rows][:, ~shown]
    target = task.targets["columns"]
    torch.testing.assert_close(torch.cdist(target, target), torch.cdist(hidden, hidden), atol=1e-2, rtol=1e-3)


def test_dense_and_sparse_features_make_the_same_task():
    x = noise() * (noise(seed=3) > 0)
    dense = batch(x)
    sparse = Batch(NodeFeatures.from_tensor(to_csr(scipy.sparse.csr_matrix(x.numpy()))), dense.graph)
    first, second = (hide(data, data.x, column_groups(data), 50, 0).targets for data in (dense, sparse))
    for name, target in first.items():
        torch.testing.assert_close(
            torch.cdist(target, target), torch.cdist(second[name], second[name]), atol=1e-2, rtol=1e-3
        )


def test_few_columns_are_not_hidden_but_neighbours_are():
    data = batch(noise(d=MIN_GROUPS - 1))
    task = hide(data, data.x, column_groups(data), 50, 0)
    assert set(task.targets) == {"neighbors", "positions"}
    assert torch.equal(task.visible.x.dense(), data.x.dense())
    assert set(hide(data, None, None, 50, 0).targets) == {"positions"}
