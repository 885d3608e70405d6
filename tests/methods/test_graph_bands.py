from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import girl
from girl.errors import InputError
from girl.graph.batch import Batch
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.graph.set_bands import SET_BANDS, SET_TARGETS
from girl.methods.graph_bands import GraphBandMethod, GraphBandSettings
from girl.nn.encoder import EncoderSettings
from girl.training.context import Context
from girl.training.recipe import Recipe
from girl.training.run import load_run, pretrain
from tests.methods.conftest import molecules


def embedded(data, seed=0, **settings):
    settings = {"dim": 16, "judge_repeats": 1} | settings
    method = GraphBandMethod(data.x.shape[1], EncoderSettings(normalize="none"), GraphBandSettings(**settings))
    method.prepare(data, torch.Generator().manual_seed(seed))
    return method, method.finish(data)


def renumbered(data, order):
    """The same set with its nodes in another order: node i of the result is node order[i]."""
    inverse = order.argsort()
    graph = Graph.from_edges(inverse[data.graph.edge_index], data.num_nodes)
    return Batch(data.x.rows(order), graph, None, data.graph_id[order], data.num_graphs)


def without_features(data):
    return replace(data, x=NodeFeatures.from_tensor(torch.zeros(data.num_nodes, 0)))


def without_edges(data):
    return replace(data, graph=Graph.from_edges(torch.zeros(2, 0, dtype=torch.int64), data.num_nodes))


def test_kinds_of_graphs_are_told_apart_without_labels():
    data, y = molecules(80)
    method, z = embedded(data)
    assert method.choice.judged
    assert method.choice.unit == "graph"
    centres = torch.stack([z[:40][y[:40] == k].mean(0) for k in range(2)])
    assert (torch.cdist(z[40:], centres).argmin(1) == y[40:]).double().mean() > 0.9


def test_the_training_set_is_embedded_to_the_same_bits_and_by_the_same_seed(graphs):
    method, z = embedded(graphs)
    assert torch.equal(method.embed(graphs), z)
    assert torch.equal(embedded(graphs)[1], z)
    assert not torch.equal(embedded(graphs, seed=1)[1], z)


def test_the_order_of_nodes_and_graphs_does_not_matter(graphs):
    method, z = embedded(graphs)
    generator = torch.Generator().manual_seed(0)
    within = torch.argsort(graphs.graph_id + torch.rand(graphs.num_nodes, generator=generator) * 0.9)
    assert torch.allclose(method.embed(renumbered(graphs, within)), z, atol=1e-4)
    place = torch.randperm(graphs.num_graphs, generator=generator)  # graph g becomes graph place[g]
    order = torch.argsort(place[graphs.graph_id], stable=True)
    moved = renumbered(graphs, order)
    moved = replace(moved, graph_id=place[moved.graph_id])
    assert torch.allclose(method.embed(moved)[place], z, atol=1e-4)


def test_a_graph_is_embedded_the_same_alone(graphs):
    method, z = embedded(graphs)
    alone = graphs.subgraph((graphs.graph_id == 5).nonzero().squeeze(1), renumber_graphs=True)
    assert torch.allclose(method.embed(alone), z[5], atol=1e-4)


@pytest.mark.parametrize(
    "change", [without_features, without_edges, lambda data: without_edges(without_features(data))]
)
def test_sets_that_lack_something(graphs, change):
    data = change(graphs)
    method, z = embedded(data)
    assert z.isfinite().all()
    assert len(z) == graphs.num_graphs
    assert torch.equal(method.embed(data), z)
    if not data.x.shape[1]:
        assert not {"bag", "hop0", "colors0"} & set(method.choice.scales)


def test_graphs_of_one_node_and_continuous_features():
    generator = torch.Generator().manual_seed(0)
    one = Batch(
        NodeFeatures.from_tensor(torch.randn(30, 3, generator=generator)),
        Graph.from_edges(torch.zeros(2, 0, dtype=torch.int64), 30),
        None,
        torch.arange(30),
        30,
    )
    method, z = embedded(one)
    assert not method.choice.judged
    assert z.isfinite().all()
    data, _ = molecules(40)
    x = torch.randn(data.num_nodes, 200, generator=generator)
    method, z = embedded(replace(data, x=NodeFeatures.from_tensor(x)))
    assert not method.bands.exact
    assert z.isfinite().all()


def test_graphs_that_do_not_differ_have_one_column_of_zeros():
    edges = torch.tensor([[0, 2, 4], [1, 3, 5]])
    data = Batch(NodeFeatures.from_tensor(torch.ones(6, 2)), Graph.from_edges(edges, 6), None, torch.arange(6) // 2, 3)
    method, z = embedded(data)
    assert z.shape == (3, 1)
    assert torch.equal(method.embed(data), z)


def test_halves_of_different_graphs_explain_nothing():
    data, _ = molecules(300)
    method, _ = embedded(data)
    parts, targets = method._task(data, list(SET_BANDS), 0)
    generator = torch.Generator().manual_seed(0)
    shuffled = {name: rows[torch.randperm(len(rows), generator=generator)] for name, rows in targets.items()}
    learned = method._learn(parts, shuffled)
    assert set(targets) == set(SET_TARGETS)
    for share, stderr in zip(learned.shares, learned.stderrs, strict=True):
        assert share < 3 * stderr + 0.01
    assert max(method._learn(parts, targets).shares) > 0.1


def test_the_choice_is_said_stored_and_replayed(graphs, tmp_path):
    run = pretrain(graphs, Recipe(), Context(folder=tmp_path))
    assert run.recipe.name == "graph-bands"
    assert run.recipe == Recipe.graphs_default()
    assert run.choice.lines()[0].startswith("your graphs: ")
    loaded = load_run(tmp_path)
    assert loaded.choice == run.choice
    other, _ = molecules(7, seed=3)
    assert torch.equal(loaded.embed(other), run.embed(other))
    assert torch.equal(loaded.embed(graphs), run.vectors)


def test_scales_can_be_given(graphs):
    method, _ = embedded(graphs, bands=("size", "colors1"), scales=(0.0, 1.0))
    assert method.choice.used == {"colors1": 1.0}
    assert method.choice.headline == "the scales of the bands were given"


def test_settings_of_the_default_for_one_graph_carry_over(graphs):
    assert pretrain(graphs, Recipe().with_values({"dim": 5})).vectors.shape == (24, 5)
    with pytest.raises(InputError, match="bands: given 'own'"):
        pretrain(graphs, Recipe().with_values({"bands": ["own"]}))


def test_the_estimator_and_pretrain_use_it_for_a_list_of_graphs():
    from torch_geometric.data import Data

    data, _ = molecules(24)
    listed = []
    for index in range(24):
        part = data.subgraph((data.graph_id == index).nonzero().squeeze(1))
        listed.append(Data(x=part.x.dense(), edge_index=part.graph.edge_index))
    run = girl.pretrain(listed)
    assert run.recipe.name == "graph-bands"
    estimator = girl.GIRL(random_state=run.recipe.train.seed)
    assert (estimator.fit_transform(listed) == run.vectors.numpy()).all()
    assert girl.pretrain(listed, hidden=8, epochs=1).recipe.name == "girl"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dim": 0}, "dim: given 0"),
        ({"bands": ("size", "own")}, "bands: given 'own'"),
        ({"bands": ()}, "bands: given none"),
        ({"scales": (1.0,)}, "scales: given 1 for 12 bands"),
        ({"bands": ("size",), "scales": (0.0,)}, "scales: given only zeros"),
        ({"judge_rows": 3}, "judge_rows"),
    ],
)
def test_mistakes_are_said(settings, message):
    with pytest.raises(InputError, match=message):
        GraphBandSettings(**settings)


def test_one_graph_and_an_unfitted_method_are_refused(graphs, data):
    method = GraphBandMethod(4, EncoderSettings(normalize="none"), GraphBandSettings())
    with pytest.raises(RuntimeError, match="not fitted"):
        method.embed(graphs)
    with pytest.raises(InputError, match="expected a set of graphs"):
        method.prepare(data, torch.Generator())
    with pytest.raises(InputError, match="expected a set of graphs"):
        embedded(graphs)[0].embed(data)
    with pytest.raises(InputError, match="hidden: given for the default recipe"):
        GraphBandMethod(4, EncoderSettings(hidden=8), GraphBandSettings())
