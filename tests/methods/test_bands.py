from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from girl.errors import InputError
from girl.graph.bands import BANDS, PRIOR
from girl.graph.batch import Batch
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.methods.bands import BandMethod, BandSettings, final_scales
from girl.nn.encoder import EncoderSettings
from girl.training.context import Context
from girl.training.recipe import Recipe
from girl.training.run import load_run, pretrain


def graph(homophilic, n=400, d=24, seed=0, informative=True):
    """Four groups. Features depend on the group, if informative, and neighbours share it, if homophilic."""
    generator = torch.Generator().manual_seed(seed)
    group = torch.arange(n) % 4
    pairs = torch.randint(n, (2, 24 * n), generator=generator)
    same = group[pairs[0]] == group[pairs[1]]
    pairs = pairs[:, same if homophilic else torch.ones_like(same)][:, : 4 * n]
    centers = torch.randn(4, d, generator=generator)
    x = centers[group] * informative * (0.3 if homophilic else 1.5) + torch.randn(n, d, generator=generator)
    return Batch(NodeFeatures.from_tensor(x), Graph.from_edges(pairs, n)), group


def embedded(data, seed=0, **settings):
    method = BandMethod(data.x.shape[1], EncoderSettings(normalize="none"), BandSettings(**settings))
    method.prepare(data, torch.Generator().manual_seed(seed))
    return method, method.finish(data)


def accuracy(z, group):
    """Of the nearest class centre, fitted on one half of the nodes."""
    half = len(z) // 2
    centres = torch.stack([z[:half][group[:half] == k].mean(0) for k in range(4)])
    return float((torch.cdist(z[half:], centres).argmin(1) == group[half:]).double().mean())


def test_smoothing_counts_where_neighbours_are_alike():
    data, group = graph(homophilic=True)
    method, z = embedded(data, dim=32)
    assert "neighbours resemble each other" in method.choice.headline
    assert accuracy(z, group) > accuracy(data.x.dense(), group) + 0.05


def test_own_features_count_where_neighbours_are_not_alike():
    data, group = graph(homophilic=False)
    method, z = embedded(data, dim=32)
    assert next(iter(method.choice.used)) == "own"
    assert accuracy(z, group) > accuracy(data.x.dense(), group) - 0.02


def test_the_graph_counts_where_features_are_noise():
    data, group = graph(homophilic=True, informative=False)
    method, z = embedded(data, dim=32)
    assert next(iter(method.choice.used)) in ("far", "positions")
    assert method.choice.scales["own"] < 0.2
    assert accuracy(z, group) > 0.7


def test_noise_columns_do_not_change_the_choice():
    data, _ = graph(homophilic=True)
    noise = torch.randn(400, 12, generator=torch.Generator().manual_seed(9))
    wide = replace(data, x=NodeFeatures.from_tensor(torch.cat([data.x.dense(), noise], 1)))
    kinds = [embedded(one, dim=32)[0].choice.headline for one in (data, wide)]
    assert kinds[0] == kinds[1]


def test_nothing_to_explain_is_said():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(300, 20, generator=generator)
    data = Batch(NodeFeatures.from_tensor(x), Graph.from_edges(torch.randint(300, (2, 900), generator=generator), 300))
    method, z = embedded(data, dim=16)
    assert not method.choice.judged
    assert "nothing explains" in method.choice.headline
    assert z.isfinite().all()


def test_a_saved_run_gives_the_same_embeddings(tmp_path):
    data, _ = graph(homophilic=True)
    run = pretrain(data, Recipe().with_values({"dim": 16}), Context(folder=tmp_path / "run"))
    again = load_run(tmp_path / "run")
    assert again.choice == run.choice
    torch.testing.assert_close(again.embed(data), run.vectors, atol=1e-5, rtol=1e-4)


def test_the_same_seed_gives_the_same_bits():
    data, _ = graph(homophilic=True)
    assert torch.equal(embedded(data)[1], embedded(data)[1])
    assert not torch.equal(embedded(data)[1], embedded(data, seed=1)[1])


def test_positions_of_another_graph_are_left_out():
    """Its features are embedded as before, and where its nodes are says nothing about the first graph."""
    data, _ = graph(homophilic=True)
    scales = {"bands": ("own", "positions"), "scales": (1.0, 1.0), "dim": 24}
    method, z = embedded(data, **scales)
    torch.testing.assert_close(method.embed(data), z, atol=1e-5, rtol=1e-4)
    edges = torch.randint(400, (2, 900), generator=torch.Generator().manual_seed(5))
    other, moved = (replace(data, graph=Graph.from_edges(e, 400)) for e in (edges, edges[:, :500]))
    assert torch.equal(method.embed(other), method.embed(moved))


def test_the_judged_learned_band_has_not_seen_what_is_hidden(monkeypatch):
    """On a small graph, a map of the complete graph would explain hidden columns by heart."""
    data, _ = graph(homophilic=True)
    original, judged = BandMethod.iter_bands, []

    def iter_bands(self, part, names, learned_map=None, rank=None, most_positions=None):
        if rank is not None:
            judged.append(learned_map is not None and torch.equal(learned_map, self._fit_learned(part)))
            assert not torch.equal(self.learned_map, self._fit_learned(part))
        return original(self, part, names, learned_map, rank, most_positions)

    monkeypatch.setattr(BandMethod, "iter_bands", iter_bands)
    embedded(data, dim=16)
    assert judged == [True, True]


def test_final_scales_lie_between_the_judged_and_the_usual_ones():
    judged = dict.fromkeys(BANDS, 0.0) | {"own": 1.0, "near": 0.25, "size": 0.001, "mid": 0.2, "learned": 0.1}
    final = final_scales(judged)
    assert final["size"] == 0 == final["positions"]
    assert final["learned"] == 0  # the same band without learning explains more
    assert final["near"] / final["own"] == pytest.approx((PRIOR["near"] * 0.25 / PRIOR["own"]) ** 0.5, abs=1e-3)
    assert max(final.values()) == 1
    assert final_scales(judged | {"learned": 0.3})["learned"] > 0


def test_given_scales_are_used():
    data, _ = graph(homophilic=True)
    method, z = embedded(data, bands=("own", "mid"), scales=(1.0, 0.0), dim=24, sharpen=1.0)
    assert method.choice.used == {"own": 1.0}
    x = data.x.dense() - data.x.dense().mean(0)
    ratio = torch.cdist(z, z) / torch.cdist(x, x).clamp(min=1e-9)
    off = ~torch.eye(len(z), dtype=torch.bool)
    assert ratio[off].std() / ratio[off].mean() < 1e-3  # a rotation and one factor


def test_a_graph_without_features_has_positions_and_roles():
    data, group = graph(homophilic=True)
    data = replace(data, x=NodeFeatures.from_tensor(torch.zeros(400, 0)))
    method, z = embedded(data, dim=16)
    assert set(method.choice.scales) == {"positions", "roles"}
    assert accuracy(z, group) > 0.5  # chance is 0.25


def test_columns_that_name_the_nodes_are_not_features():
    data, _ = graph(homophilic=True)
    data = replace(data, x=NodeFeatures.from_tensor(torch.eye(400).to_sparse_csr()))
    assert set(embedded(data, dim=16)[0].choice.scales) == {"positions", "roles"}


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_tiny_graphs_have_embeddings(n):
    edges = torch.tensor([[0], [n - 1]]) if n > 1 else torch.zeros(2, 0, dtype=torch.long)
    data = Batch(NodeFeatures.from_tensor(torch.randn(n, 3)), Graph.from_edges(edges, n))
    method, z = embedded(data, dim=4)
    assert len(z) == n
    assert 1 <= z.shape[1] <= max(n - 1, 1)
    assert z.isfinite().all()
    torch.testing.assert_close(method.embed(data), z, atol=1e-4, rtol=1e-3)


def test_mistakes_are_named():
    for settings, words in (
        ({"bands": ("own", "mdi")}, "bands: given 'mdi'"),
        ({"bands": ()}, "bands: given none"),
        ({"scales": (1.0,)}, "scales: given 1 for 11 bands"),
        ({"scales": (0.0,) * 11}, "only zeros"),
        ({"dim": 0}, "dim"),
    ):
        with pytest.raises(InputError, match=words):
            BandSettings(**settings)
    with pytest.raises(InputError, match="hidden: given for the default recipe"):
        BandMethod(3, EncoderSettings(hidden=8), BandSettings())
    data, _ = graph(homophilic=True, n=40)
    with pytest.raises(InputError, match="set of graphs"):
        embedded(replace(data, graph_id=torch.zeros(40, dtype=torch.long), num_graphs=1))
    with pytest.raises(InputError, match="none of which this graph has"):
        embedded(replace(data, x=NodeFeatures.from_tensor(torch.zeros(40, 0))), bands=("own",))
    with pytest.raises(RuntimeError, match="not fitted"):
        BandMethod(3, EncoderSettings(), BandSettings()).embed(data)


def test_every_band_is_documented():
    assert all(BANDS.values())
    assert tuple(BANDS) == BandSettings().bands
