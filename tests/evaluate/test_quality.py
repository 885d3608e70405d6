from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from girl.errors import InputError
from girl.evaluate import quality
from girl.evaluate.quality import (
    GIRL,
    RAW,
    UNTRAINED,
    Cosines,
    auc,
    classes_of,
    constant_columns,
    effective_rank,
    interval,
    measure,
    neighbourhoods,
    repeated_rows,
)


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


def test_two_hops_are_neighbours_of_neighbours():
    """On a long path whose places are its embedding, the nearest two of an inner node are its neighbours."""
    n = 200
    place = torch.arange(n) * 2 * math.pi / (4 * n)
    h = torch.stack([place.cos(), place.sin(), torch.zeros(n)], 1)
    edges = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
    near = neighbourhoods(edges, n)
    one, two = quality._within(near, np.array([50, 50, 50]), np.array([[49, 52], [53, 50], [48, 51]]))
    assert one.tolist() == [[True, False], [False, False], [False, True]]
    assert two.tolist() == [[True, True], [False, True], [True, True]]
    assert measure(h, edges).likeness[0].one_hop > 0.9


@pytest.mark.parametrize("far", [0.0, 50.0])
def test_sparse_rows_are_measured_as_dense_ones(far):
    h = noise(150, 30).relu() + far * (torch.arange(30) == 3)
    sparse = h.to_sparse_csr()
    some = np.arange(0, 150, 3)
    assert Cosines(sparse).pairs(some, some + 1) == pytest.approx(Cosines(h).pairs(some, some + 1), abs=1e-3)
    one, two = (Cosines(x).nearest(some, 5) for x in (h, sparse))
    assert one[1] == pytest.approx(two[1], abs=1e-3)
    edges = random_edges(150, 300)
    rows = [measure(h, edges, features=x).likeness[0].links for x in (h, sparse)]
    assert rows[0] == pytest.approx(rows[1], abs=1e-3)


def test_the_nearest_are_found_over_all_blocks_and_never_the_node_itself():
    h = noise(9000, 3)
    nodes = np.array([0, 8500])
    who, how = Cosines(h).nearest(nodes, 4)
    centred = torch.nn.functional.normalize(h - h.mean(0))
    full = centred[nodes] @ centred.T
    full[torch.arange(2), torch.from_numpy(nodes)] = -2
    assert how == pytest.approx(full.topk(4).values.numpy(), abs=1e-5)
    assert not (who == nodes[:, None]).any()


def test_auc_counts_ties_half():
    assert auc(np.array([2.0, 3.0]), np.array([0.0, 1.0])) == 1
    assert auc(np.array([1.0, 1.0]), np.array([1.0, 1.0])) == 0.5
    assert auc(np.array([0.0]), np.array([1.0, -1.0, 0.0])) == 0.5


def test_directions_loops_and_repetitions_do_not_count():
    joined = neighbourhoods(np.array([[0, 1, 0, 2, 0], [1, 0, 1, 2, 2]]), 4)
    assert joined.toarray().tolist() == [[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]


def test_non_edges_are_none_on_small_and_large_graphs():
    for n in (50, 3000):
        joined = neighbourhoods(random_edges(n, 5 * n), n)
        one, other = quality._non_edges(joined, np.random.default_rng(0))
        assert len(one)
        assert (one != other).all()
        assert not np.asarray(joined[one, other]).any()


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


def test_labels_are_read_off_what_holds_them(blobs):
    h, y = blobs(300, 6, classes=3, spread=0.3)
    names = [None if i % 10 == 0 else f"class {c}" for i, c in enumerate(y.tolist())]
    found = measure(h, torch.zeros(2, 0), untrained=noise(300, 6), labels=names).probed
    assert found is not None
    assert found.classes == ["class 0", "class 1", "class 2"]
    assert found.nodes == 270
    ours, blind = found.accuracy[GIRL], found.accuracy[UNTRAINED]
    assert ours.mean > 0.95
    assert ours.low <= ours.mean <= ours.high <= 1
    assert blind.low < found.frequent + 0.1
    assert found.gain[UNTRAINED].low > 0.3
    confusion = np.array(found.confusion)
    assert confusion.trace() / confusion.sum() == pytest.approx(ours.mean, abs=0.01)


def test_rare_classes_are_left_out_and_counted(blobs):
    h, y = blobs(200, 6, classes=2, spread=0.3)
    names = ["once", "few", "few", *y[3:].tolist()]
    found = measure(h, torch.zeros(2, 0), labels=[str(name) for name in names]).probed
    assert found is not None
    assert (found.classes, found.rare, found.nodes) == (["0", "1"], 2, 197)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (None, "No column"),
        ([None] * 120, "is none"),
        (["a"] * 120, "is one"),
        ([f"v{i}" for i in range(120)], "120 different values"),
        ([0.5 * i for i in range(120)], "different values"),
        ([[1, 2]] * 120, "lists"),
    ],
)
def test_what_is_no_class_is_not_probed_and_said(labels, reason):
    found = measure(noise(120, 4), torch.zeros(2, 0), labels=labels)
    assert found.probed is None
    assert reason in found.unprobed


@pytest.mark.parametrize(
    ("labels", "codes", "names"),
    [
        ([10, 2, None, 2], [1, 0, -1, 0], ["2", "10"]),
        ([1.0, float("nan"), 0.0], [1, -1, 0], ["0", "1"]),
        ([True, False, None], [1, 0, -1], ["false", "true"]),
        (pl.Series(["b", "a", None]), [1, 0, -1], ["a", "b"]),
        (pl.Series(["b", "a", "b"], dtype=pl.Categorical), [1, 0, 1], ["a", "b"]),
    ],
)
def test_classes_are_in_the_order_of_their_values(labels, codes, names):
    found, called = classes_of(labels)
    assert found.tolist() == codes
    assert called == names


def test_intervals_allow_for_shared_nodes():
    scores = [0.8, 0.82, 0.84, 0.86]
    plain, shared = interval(scores, 0, 0, 1), interval(scores, 1 / 3, 0, 1)
    assert plain.mean == shared.mean == pytest.approx(0.83)
    assert shared.high - shared.low == pytest.approx((plain.high - plain.low) * math.sqrt(1 + 4 / 3))
    assert interval([0.99, 1.0], 1, 0, 1).high == 1


def test_the_same_seed_gives_the_same_numbers(blobs):
    h, y = blobs(120, 6)
    edges = random_edges(120, 300)
    one, two = (measure(h, edges, features=h[:, :3], labels=y.tolist(), seed=2) for _ in range(2))
    assert one == two


def test_costs_are_linear_in_the_nodes(monkeypatch):
    """Draws, not all pairs: what is compared does not grow with the square of the nodes."""
    counted = []
    block = Cosines.block
    monkeypatch.setattr(Cosines, "block", lambda self, a, b: (counted.append(len(a) * len(b)), block(self, a, b))[1])
    for n in (10_000, 20_000):
        counted.append(0)
        measure(noise(n, 2), random_edges(n, 2 * n))
    first = counted.index(0, 1)
    assert sum(counted[first:]) == 2 * sum(counted[:first])


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
