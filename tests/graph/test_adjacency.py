from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from girl.errors import InputError
from girl.graph.adjacency import _build_by_sorting, build_adjacency, check_edge_index, unique_edges


@st.composite
def edge_lists(draw):
    n = draw(st.integers(1, 9))
    edges = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=25))
    weight = draw(st.lists(st.sampled_from([0.25, 1.0, 2.0, 5.5]), min_size=len(edges), max_size=len(edges)))
    edge_index = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T
    return edge_index, n, draw(st.booleans()), torch.tensor(weight)


def by_hand(edge_index, n, directed, weight=None):
    """The rule, edge by edge."""
    a = torch.zeros(n, n, dtype=torch.float64)
    for k, (i, j) in enumerate(edge_index.T.tolist()):
        if i == j:
            continue
        a[j, i] += 1.0 if weight is None else weight[k]
        if not directed:
            a[i, j] += 1.0 if weight is None else weight[k]
    if weight is None:
        return (a > 0).float()
    return (a / a[a > 0].mean()).float() if (a > 0).any() else a.float()


@given(edge_lists())
def test_repeated_edges_add_up_and_direction_matters_only_if_directed(case):
    edge_index, n, directed, weight = case
    torch.testing.assert_close(build_adjacency(edge_index, n, directed, weight).to_dense(), by_hand(*case))


@given(edge_lists())
def test_without_weights_every_edge_counts_once(case):
    edge_index, n, directed, _ = case
    assert torch.equal(build_adjacency(edge_index, n, directed).to_dense(), by_hand(edge_index, n, directed))


def test_the_rule_on_one_example():
    edge_index = torch.tensor([[0, 0, 1, 1, 2], [1, 1, 0, 2, 2]])  # 0-1 three times, once backwards; 1-2; a loop
    weight = torch.tensor([1.0, 2.0, 3.0, 2.0, 50.0])
    undirected = build_adjacency(edge_index, 3, False, weight).to_dense()
    assert undirected.tolist() == [[0, 1.5, 0], [1.5, 0, 0.5], [0, 0.5, 0]]  # 6 and 2, divided by their mean
    directed = build_adjacency(edge_index, 3, True, weight).to_dense()
    torch.testing.assert_close(directed, torch.tensor([[0, 3.0, 0], [3, 0, 0], [0, 2, 0]]) * 3 / 8)


@given(edge_lists())
def test_both_directions_listed_give_the_same_graph_as_one(case):
    edge_index, n, _, weight = case
    both, twice = torch.cat([edge_index, edge_index.flip(0)], 1), torch.cat([weight, weight])
    assert torch.equal(build_adjacency(both, n).to_dense(), build_adjacency(edge_index, n).to_dense())
    once = build_adjacency(edge_index, n, edge_weight=weight).to_dense()
    assert torch.equal(build_adjacency(both, n, edge_weight=twice).to_dense(), once)


@given(edge_lists())
def test_sorting_as_on_a_gpu_gives_the_same_matrix(case):
    edge_index, n, directed, weight = case
    crow, col, values = _build_by_sorting(edge_index, n, directed, weight)
    counted = build_adjacency(edge_index, n, directed, weight)
    assert torch.equal(crow, counted.crow_indices())
    assert torch.equal(col, counted.col_indices())
    torch.testing.assert_close((values / values.mean()).float(), counted.values())


@given(edge_lists())
def test_unique_edges_are_sorted_and_keep_the_sums(case):
    edge_index, n, directed, weight = case
    edges = unique_edges(*edge_index.numpy(), n, directed, weight.numpy())
    proper = edge_index[0] != edge_index[1]
    assert edges.data.sum() == pytest.approx(weight[proper].sum().item())
    assert edges.has_canonical_format
    if not directed:
        assert np.tril(edges.toarray()).sum() == 0


@pytest.mark.parametrize(
    ("edge_index", "words"),
    [
        (None, "the graph has no edges"),
        ([[0], [1]], "given a list, expected a tensor"),
        (torch.tensor([[0, 1], [1, 2], [2, 0]]), "given 3 × 2, expected 2 × m"),
        (torch.tensor([0, 1]), "given 2, expected 2 × m"),
        (torch.tensor(1), "given a single number, expected 2 × m"),
        (torch.tensor([[0.0], [1.0]]), "given torch.float32, expected integers"),
        (torch.tensor([[True], [False]]), "given torch.bool, expected integers"),
        (torch.tensor([[0], [3]]), "given node 3, expected 0 to 2"),
        (torch.tensor([[-1], [1]]), "given node -1, expected 0 to 2"),
    ],
)
def test_an_edge_index_of_another_shape_type_or_range_is_refused(edge_index, words):
    for check in (check_edge_index, build_adjacency):
        with pytest.raises(InputError, match=f"^edge_index: .*{words}"):
            check(edge_index, 3)


@pytest.mark.parametrize("kind", [torch.int32, torch.int64, torch.uint8])
def test_any_integers_are_accepted(kind):
    a = build_adjacency(torch.tensor([[0, 1], [1, 2]], dtype=kind), 3)
    assert a.to_dense().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
