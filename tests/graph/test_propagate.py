from __future__ import annotations

import pytest
import torch

from girl.graph import propagate as module
from girl.graph.fully_adjacent import FullyAdjacentGraph
from girl.graph.graph import Graph
from girl.graph.propagate import propagate
from girl.graph.reweighted import ReweightedMatrix
from tests.helpers.samples import seeded


def random_graph(n=30, m=90, directed=False):
    return Graph.from_edges(torch.randint(n, (2, m), generator=seeded()), n, directed)


def test_many_steps_solve_the_equation_of_personalised_pagerank():
    graph, x = random_graph(), torch.randn(30, 4, generator=seeded())
    exact = 0.2 * torch.linalg.solve(torch.eye(30) - 0.8 * graph.gcn.tensor.to_dense(), x)
    torch.testing.assert_close(graph.propagate(x, 0.2, 100), exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("remainder", [False, True])
@pytest.mark.parametrize("steps", [0, 1, 4])
@pytest.mark.parametrize("rows", [None, [4, 4, 29, 0]])
def test_value_and_gradient_are_those_of_the_dense_series(directed, transpose, remainder, steps, rows, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_BYTES", 1)  # several blocks of 16 columns
    matrix = random_graph(directed=directed).gcn
    a = matrix.tensor.to_dense().T if transpose else matrix.tensor.to_dense()
    x = torch.randn(30, 20, generator=seeded(1), requires_grad=True)
    rows = None if rows is None else torch.tensor(rows)
    z = propagate(matrix, x, 0.2, steps, transpose=transpose, rows=rows, remainder=remainder)
    powers = [torch.linalg.matrix_power(a, k) @ x for k in range(steps + 1)]
    factors = [0.2 * 0.8**k for k in range(steps)] + [0.8**steps if remainder else 0.2 * 0.8**steps]
    expected = sum(factor * power for factor, power in zip(factors, powers, strict=True))
    expected = expected if rows is None else expected[rows]
    torch.testing.assert_close(z, expected)
    weight = torch.randn(z.shape, generator=seeded(2))
    found, exact = (torch.autograd.grad((y * weight).sum(), x, retain_graph=True)[0] for y in (z, expected))
    torch.testing.assert_close(found, exact)


def test_any_linear_map_is_propagated():
    graph, x = random_graph(), torch.randn(30, 3, generator=seeded())
    ones = torch.ones_like(graph.gcn.values)
    torch.testing.assert_close(propagate(ReweightedMatrix(graph.gcn, ones), x, 0.1, 5), propagate(graph.gcn, x, 0.1, 5))
    mean = x.mean(0)
    torch.testing.assert_close(FullyAdjacentGraph(30).propagate(x, 0.1, 50), 0.1 * x + 0.9 * mean)


def test_threads_share_the_columns(monkeypatch):
    graph, x = random_graph(), torch.randn(30, 64, generator=seeded())
    alone = graph.propagate(x, 0.1, 5)
    monkeypatch.setattr(module, "BLOCK_BYTES", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    assert torch.equal(graph.propagate(x, 0.1, 5), alone)
