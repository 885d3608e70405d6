from __future__ import annotations

import torch

from girl.graph.graph import Graph
from girl.graph.positions import FEWEST, POSITIONS, num_positions, positions


def communities(n=120, groups=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    pairs = torch.randint(n, (2, 20 * n), generator=generator)
    same = pairs[0] % groups == pairs[1] % groups
    return Graph.from_edges(torch.cat([pairs[:, same], pairs[:, ~same][:, : n // 4]], 1), n), torch.arange(n) % groups


def test_nodes_of_a_community_are_close():
    graph, group = communities()
    z = positions(graph, 16)
    distances = torch.cdist(z, z)
    same = group[:, None] == group[None]
    assert distances[same].mean() < 0.6 * distances[~same].mean()


def test_columns_that_a_small_graph_lacks_are_zero_and_an_isolated_node_has_no_position():
    graph = Graph.from_edges(torch.tensor([[0, 1, 2], [1, 2, 3]]), 6)
    z = positions(graph, 16)
    assert z.shape == (6, 16)
    assert not z[:, 6:].any()
    assert z[5].abs().max() < 1e-5
    assert not positions(Graph.from_edges(torch.zeros(2, 0, dtype=torch.long), 4), 8).any()


def test_distances_do_not_depend_on_the_order_of_the_nodes():
    graph, _ = communities(60)
    order = torch.randperm(60, generator=torch.Generator().manual_seed(1))
    other = Graph.from_edges(torch.argsort(order)[graph.edge_index], 60)
    first, second = (torch.cdist(z, z) for z in (positions(graph, 59), positions(other, 59)))
    torch.testing.assert_close(first[order][:, order], second, atol=0.1, rtol=0.1)


def test_directions_do_not_matter_and_the_seed_fixes_the_result():
    graph, _ = communities(60)
    directed = Graph.from_edges(graph.edge_index, 60, directed=True)
    assert torch.equal(positions(directed, 16), positions(graph, 16))


def test_small_graphs_have_few_positions_and_huge_ones_what_fits_into_memory():
    assert num_positions(1) == 1
    assert num_positions(400) == 100
    assert num_positions(20_000) == POSITIONS
    assert num_positions(100_000) == POSITIONS // 2
    assert num_positions(10_000_000) == FEWEST
