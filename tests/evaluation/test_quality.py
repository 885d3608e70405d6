from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from girl.errors import InputError
from girl.evaluation.neighborhood import BAG, GIRL, RAW, UNTRAINED
from girl.evaluation.quality import constant_columns, effective_rank, measure, repeated_rows


def noise(n: int, d: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed))


def cliques(count: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Disjoint complete graphs and an embedding that knows them perfectly."""
    group = torch.arange(count * size) // size
    edges = torch.nonzero((group[:, None] == group) & ~torch.eye(len(group), dtype=torch.bool)).T
    return torch.nn.functional.one_hot(group).float() + 1e-3 * noise(len(group), count), edges


def random_edges(n: int, m: int) -> torch.Tensor:
    return torch.randint(0, n, (2, m), generator=torch.Generator().manual_seed(0))


def rotation(d: int, seed: int = 0) -> torch.Tensor:
    return torch.linalg.qr(noise(d, d, seed))[0]


@settings(deadline=None, max_examples=20)
@given(d=st.integers(1, 12), shift=st.floats(-100, 100), scale=st.floats(1e-3, 1e3))
def test_the_rank_of_equal_spreads_is_their_number(d, shift, scale):
    h = torch.cat([torch.eye(d), -torch.eye(d)]) * scale
    assert effective_rank((h + shift * scale).double()) == pytest.approx(d, rel=1e-3)


def test_the_rank_of_noise_is_near_its_width_and_of_a_line_one():
    assert 15 < effective_rank(noise(3000, 16)) <= 16
    assert effective_rank(noise(300, 1) @ noise(1, 16)) == pytest.approx(1, abs=1e-3)
    assert effective_rank(torch.full((50, 4), 3.0)) == 0
    assert effective_rank(noise(1, 4)) == 0


def test_rotation_shift_and_scale_change_nothing():
    h, edges = noise(200, 8) * torch.linspace(0.1, 2, 8), random_edges(200, 600)
    one, two = measure(h, edges), measure(100 * h @ rotation(8) + 30, edges)
    assert one.effective_rank == pytest.approx(two.effective_rank, rel=1e-3)
    assert one.likeness[0].links == pytest.approx(two.likeness[0].links, abs=1e-3)
    assert one.likeness[0].one_hop == pytest.approx(two.likeness[0].one_hop, abs=0.01)


def test_an_embedding_that_knows_the_graph_is_perfect_and_noise_is_chance():
    h, edges = cliques(40, 8)
    found = measure(h, edges, untrained=noise(320, 40))
    blind, ours = found.likeness
    assert (blind.name, ours.name) == (UNTRAINED, GIRL)
    assert ours.links == ours.one_hop == ours.two_hops == 1
    assert blind.links == pytest.approx(found.chance.links, abs=0.05)
    assert blind.one_hop == pytest.approx(found.chance.one_hop, abs=0.02)
    assert blind.two_hops == pytest.approx(found.chance.two_hops, abs=0.02)
    assert found.chance.one_hop == pytest.approx(7 / 319)


@pytest.mark.parametrize("n", [1, 2, 3, 12])
@pytest.mark.parametrize("graph", ["none", "complete", "one"])
def test_small_graphs_and_graphs_without_edges_are_measured(n, graph):
    full = torch.nonzero(~torch.eye(n, dtype=torch.bool)).T
    edges = {"none": full[:, :0], "complete": full, "one": full[:, :1]}[graph]
    found = measure(noise(n, 4), edges, features=noise(n, 3), labels=[None] * n)
    assert [row.name for row in found.likeness] == [RAW, GIRL]
    for row in (*found.likeness, found.chance):
        for value in (row.links, row.one_hop, row.two_hops):
            assert value is None or 0 <= value <= 1
    assert (found.chance.one_hop is None) == (not edges.numel())
    assert found.probed is None


def test_a_collapse_is_told():
    edges = random_edges(100, 300)
    fine = measure(noise(100, 8), edges)
    assert not fine.collapsed
    assert not fine.warnings
    line = measure(noise(100, 1) @ noise(1, 8) + 1e-4 * noise(100, 8), edges)
    assert line.collapsed
    assert "on a line" in line.warnings[0]
    same = measure(torch.ones(100, 8), edges)
    assert same.collapsed
    assert "says nothing" in same.warnings[0]
    assert same.likeness[0].links == 0.5
    few = measure(noise(4, 8).repeat(25, 1), edges)
    assert few.collapsed
    assert "100 % of the nodes share" in few.warnings[0]


def test_equal_rows_and_constant_columns_are_counted():
    h = noise(1000, 6)
    assert repeated_rows(h) == 0
    assert repeated_rows(h + 1000) == pytest.approx(0, abs=0.01)
    h[:100] = h[100:200]
    assert repeated_rows(h) == pytest.approx(0.2)
    h[:, 2] = 5.0
    assert constant_columns(h) == 1
    warnings = measure(h, torch.zeros(2, 0)).warnings
    assert any("20 % of the nodes" in warning for warning in warnings)
    assert any("1 of 6 columns" in warning for warning in warnings)


def test_the_same_seed_gives_the_same_numbers(blobs):
    h, y = blobs(120, 6)
    edges = random_edges(120, 300)
    one, two = (measure(h, edges, features=h[:, :3], labels=y.tolist(), seed=2) for _ in range(2))
    assert one == two


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"embedding": torch.zeros(5)}, "a row for each node"),
        ({"embedding": torch.zeros(5, 0)}, "some columns"),
        ({"embedding": torch.full((5, 2), math.nan)}, "diverged"),
        ({"edge_index": torch.tensor([[0], [5]])}, "expected 0 to 4"),
        ({"features": torch.zeros(4, 2)}, "expected 5 rows"),
    ],
)
def test_mistakes_are_named(change, message):
    with pytest.raises(InputError, match=message):
        measure(**({"embedding": noise(5, 2), "edge_index": torch.zeros(2, 0)} | change))


def test_graphs_of_a_set_are_held_against_their_labels_only():
    h = noise(100, 6)
    labels = [str(int(one > 0)) for one in h[:, 0].tolist()]
    found = measure(h, None, features=h[:, 1:], untrained=noise(100, 6, 1), labels=labels)
    assert found.unit == "graph"
    assert not found.likeness
    assert found.chance.links is None
    assert list(found.probed.accuracy) == [BAG, UNTRAINED, GIRL]
    assert found.probed.accuracy[GIRL].mean > 0.9 > found.probed.accuracy[BAG].mean
    same = measure(torch.ones(100, 6), None, labels=["a"] * 100)
    assert same.warnings == ["All rows are the same: the embedding says nothing about any graph."]
    assert "5 known graphs each" in same.unprobed
