from __future__ import annotations

import json
import math
from dataclasses import asdict

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from girl.errors import InputError
from girl.evaluation.neighborhood import BAG, GIRL, RAW, UNTRAINED
from girl.evaluation.quality import Quality, constant_columns, duplicate_rows, effective_rank, measure, measure_run
from girl.training.batch import make_batch
from girl.training.recipe import Recipe
from girl.training.run import pretrain
from girl.training.untrained import embed_untrained


def noise(n: int, d: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed))


def cliques(count: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Disjoint complete graphs and an embedding that separates them perfectly."""
    group = torch.arange(count * size) // size
    edges = torch.nonzero((group[:, None] == group) & ~torch.eye(len(group), dtype=torch.bool)).T
    return torch.nn.functional.one_hot(group).float() + 1e-3 * noise(len(group), count), edges


def random_edges(n: int, m: int) -> torch.Tensor:
    return torch.randint(0, n, (2, m), generator=torch.Generator().manual_seed(0))


def rotation(d: int, seed: int = 0) -> torch.Tensor:
    return torch.linalg.qr(noise(d, d, seed))[0]


@settings(deadline=None, max_examples=20)
@given(d=st.integers(1, 12), shift=st.floats(-100, 100), scale=st.floats(1e-3, 1e3))
def test_the_rank_of_equal_variances_is_their_number(d, shift, scale):
    h = torch.cat([torch.eye(d), -torch.eye(d)]) * scale
    assert effective_rank((h + shift * scale).double()) == pytest.approx(d, rel=1e-3)


def test_the_rank_of_noise_is_near_its_width_and_that_of_a_line_is_one():
    assert 15 < effective_rank(noise(3000, 16)) <= 16
    assert effective_rank(noise(300, 1) @ noise(1, 16)) == pytest.approx(1, abs=1e-3)
    assert effective_rank(torch.full((50, 4), 3.0)) == 0
    assert effective_rank(noise(1, 4)) == 0


def test_rotation_shift_and_scale_change_nothing():
    h, edges = noise(200, 8) * torch.linspace(0.1, 2, 8), random_edges(200, 600)
    one, two = measure(h, edges), measure(100 * h @ rotation(8) + 30, edges)
    assert one.effective_rank == pytest.approx(two.effective_rank, rel=1e-3)
    assert one.neighborhood[0].link_auc == pytest.approx(two.neighborhood[0].link_auc, abs=1e-3)
    assert one.neighborhood[0].one_hop == pytest.approx(two.neighborhood[0].one_hop, abs=0.01)


def test_a_perfect_embedding_scores_one_and_noise_scores_like_chance():
    h, edges = cliques(40, 8)
    quality = measure(h, edges, untrained=noise(320, 40))
    random, ours = quality.neighborhood
    assert (random.name, ours.name) == (UNTRAINED, GIRL)
    assert ours.link_auc == pytest.approx(1)
    assert ours.one_hop == ours.two_hops == 1
    assert random.link_auc == pytest.approx(quality.chance.link_auc, abs=0.05)
    assert random.one_hop == pytest.approx(quality.chance.one_hop, abs=0.02)
    assert random.two_hops == pytest.approx(quality.chance.two_hops, abs=0.02)
    assert quality.chance.one_hop == pytest.approx(7 / 319)


@pytest.mark.parametrize("n", [1, 2, 3, 12])
@pytest.mark.parametrize("graph", ["none", "complete", "one"])
def test_small_graphs_and_graphs_without_edges_are_measured(n, graph):
    full = torch.nonzero(~torch.eye(n, dtype=torch.bool)).T
    edges = {"none": full[:, :0], "complete": full, "one": full[:, :1]}[graph]
    quality = measure(noise(n, 4), edges, features=noise(n, 3), labels=[None] * n)
    assert [row.name for row in quality.neighborhood] == [RAW, GIRL]
    for row in (*quality.neighborhood, quality.chance):
        for value in (row.link_auc, row.one_hop, row.two_hops):
            assert value is None or 0 <= value <= 1
    assert (quality.chance.one_hop is None) == (not edges.numel())
    assert quality.label_probe is None


def test_a_collapsed_embedding_gives_a_warning():
    edges = random_edges(100, 300)
    fine = measure(noise(100, 8), edges)
    assert not fine.collapsed
    assert not fine.warnings
    line = measure(noise(100, 1) @ noise(1, 8) + 1e-4 * noise(100, 8), edges)
    assert line.collapsed
    assert "almost on a line" in line.warnings[0]
    same = measure(torch.ones(100, 8), edges)
    assert same.collapsed
    assert "does not distinguish" in same.warnings[0]
    assert same.neighborhood[0].link_auc == 0.5
    few = measure(noise(4, 8).repeat(25, 1), edges)
    assert few.collapsed
    assert "100 % of the nodes have the same row" in few.warnings[0]


def test_equal_rows_and_constant_columns_are_counted():
    h = noise(1000, 6)
    assert duplicate_rows(h) == 0
    assert duplicate_rows(h + 1000) == pytest.approx(0, abs=0.01)
    h[:100] = h[100:200]
    assert duplicate_rows(h) == pytest.approx(0.2)
    h[:, 2] = 5.0
    assert constant_columns(h) == 1
    warnings = measure(h, torch.zeros(2, 0, dtype=torch.int64)).warnings
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
def test_errors_name_the_argument(change, message):
    with pytest.raises(InputError, match=message):
        measure(**({"embedding": noise(5, 2), "edge_index": torch.zeros(2, 0, dtype=torch.int64)} | change))


def test_graphs_of_a_set_are_compared_by_labels_only():
    h = noise(100, 6)
    labels = [str(int(one > 0)) for one in h[:, 0].tolist()]
    quality = measure(h, None, features=h[:, 1:], untrained=noise(100, 6, 1), labels=labels)
    assert quality.unit == "graph"
    assert not quality.neighborhood
    assert quality.chance.link_auc is None
    assert list(quality.label_probe.accuracy) == [BAG, UNTRAINED, GIRL]
    assert quality.label_probe.accuracy[GIRL].mean > 0.9 > quality.label_probe.accuracy[BAG].mean
    same = measure(torch.ones(100, 6), None, labels=["a"] * 100)
    assert same.warnings == ["All rows are the same: the embedding does not distinguish the graphs."]
    assert "5 labelled graphs each" in same.no_label_probe


def test_a_quality_survives_json(blobs):
    h, y = blobs(60, 4)
    for edges, labels in (
        (random_edges(60, 100), y.tolist()),
        (torch.zeros(2, 0, dtype=torch.int64), None),
        (None, y.tolist()),
    ):
        quality = measure(h, edges, features=h[:, :2], labels=labels)
        assert Quality.from_dict(json.loads(json.dumps(asdict(quality)))) == quality


@pytest.mark.parametrize("most", [10, 1000])
def test_a_run_is_measured_beside_its_baselines_unless_the_graph_is_large(most, monkeypatch):
    monkeypatch.setattr("girl.evaluation.quality.MAX_UNTRAINED_NODES", most)
    data = Data(x=noise(60, 5), edge_index=random_edges(60, 200))
    recipe = Recipe.encoder_default().with_values({"hidden": 8, "epochs": 2})
    batch = make_batch(data, recipe.encoder)
    run = pretrain(batch, recipe)
    quality = measure_run(run, run.vectors, data, batch)
    expected = measure(
        run.vectors,
        data.edge_index,
        features=data.x,
        untrained=embed_untrained(batch, recipe) if most == 1000 else None,
    )
    assert quality == expected
    assert [row.name for row in quality.neighborhood] == ([RAW, UNTRAINED, GIRL] if most == 1000 else [RAW, GIRL])
