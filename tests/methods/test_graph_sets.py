"""Sets of graphs: their parts, their views, and what defines the methods that compare graphs."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cosine_similarity, softplus

from girl.errors import InputError
from girl.methods.augment import WAYS, augmented
from girl.methods.graphcl import GraphCL, GraphCLSettings, told_apart
from girl.methods.infograph import InfoGraph, InfoGraphSettings
from girl.methods.joao import JOAO, JOAOSettings, on_simplex
from girl.methods.joaov2 import JOAOv2, JOAOv2Settings
from girl.methods.registry import methods
from girl.methods.simgrace import SimGRACE, SimGRACESettings
from girl.nn.encoder import EncoderSettings
from girl.training.loop import fit
from girl.training.recipe import Recipe, method_recipe
from girl.training.run import pretrain
from girl.training.state import TrainSettings
from girl.training.untrained import embed_untrained

LEVEL = [name for name, entry in methods().items() if entry.level != "nodes"]


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def made(kind, given_settings, whole, **encoder):
    torch.manual_seed(0)
    base = {"conv": "gin", "hidden": 8, "layers": 2, "keep": 0.0, "output": "layers", "unit": False}
    return kind(whole.x.shape[1], EncoderSettings(**{**base, **encoder}), given_settings)


def ways(whole, name):
    return torch.full((whole.num_graphs,), WAYS.index(name))


@pytest.mark.parametrize("readout", ["sum", "mean", "max"])
def test_readouts_are_those_of_each_graph(readout, set_of_graphs):
    whole, _ = set_of_graphs
    h = torch.randn(whole.num_nodes, 3, generator=seeded())
    found = whole.pool(h, readout)
    for index in range(whole.num_graphs):
        own = h[whole.graph_id == index]
        expected = {"sum": own.sum(0), "mean": own.mean(0), "max": own.amax(0)}[readout]
        torch.testing.assert_close(found[index], expected)


def test_chosen_graphs_are_whole_and_numbered_anew(set_of_graphs):
    whole, _ = set_of_graphs
    nodes = torch.nonzero((whole.graph_id == 3) | (whole.graph_id == 7)).flatten()
    part = whole.subgraph(nodes, renumber_graphs=True)
    assert part.num_graphs == 2
    assert part.graph_id.unique().tolist() == [0, 1]
    h = whole.x.dense()
    torch.testing.assert_close(part.pool(part.x.dense(), "sum"), whole.pool(h, "sum")[[3, 7]])
    assert part.graph.adjacency.values().numel() == sum(
        int((whole.graph_id[whole.graph.edge_target] == index).sum()) for index in (3, 7)
    )


@pytest.mark.parametrize("readout", ["sum", "mean", "max", "kernel"])
@pytest.mark.parametrize("keep", [0.0, 0.2])
def test_a_graph_is_represented_alone_as_in_the_set(readout, keep, set_of_graphs):
    whole, _ = set_of_graphs
    recipe = Recipe().with_values(
        {"conv": "gin", "hidden": 8, "layers": 2, "output": "layers", "readout": readout, "keep": keep, "epochs": 2,
         "per_batch": 8, "rank": 16, "target_rank": 4, "unit": False}
    )  # fmt: skip
    run = pretrain(whole, recipe)
    assert run.vectors.shape == (whole.num_graphs, run.method.width)
    alone = whole.subgraph(torch.nonzero(whole.graph_id == 5).flatten(), renumber_graphs=True)
    torch.testing.assert_close(run.embed(alone)[0], run.vectors[5], rtol=1e-4, atol=1e-5)


def test_the_kernel_readout_has_a_rank_of_its_own_and_nodes_are_not_read(set_of_graphs):
    whole, _ = set_of_graphs
    recipe = Recipe().with_values(
        {"hidden": 8, "readout": "kernel", "readout_rank": 21, "keep": 0.0, "epochs": 1, "per_batch": 8, "rank": 16,
         "target_rank": 4}
    )  # fmt: skip
    run = pretrain(whole, recipe)
    assert run.vectors.shape == (whole.num_graphs, run.method.width) == (24, 21)
    nodes = replace(whole, graph_id=None, num_graphs=0)
    assert run.embed(nodes).shape == (whole.num_nodes, 8)
    run = pretrain(nodes, recipe)
    assert run.vectors.shape == (whole.num_nodes, run.method.width) == (whole.num_nodes, 8)


def test_an_epoch_sees_every_graph_once(set_of_graphs):
    whole, _ = set_of_graphs
    method = made(GraphCL, GraphCLSettings(), whole)
    seen = []
    plain = method.losses
    method.losses = lambda batch, generator: (
        seen.append((batch.num_graphs, batch.num_nodes)),
        plain(batch, generator),
    )[1]
    fit(method, whole, TrainSettings(epochs=1, per_batch=10))
    assert [count for count, _ in seen] == [10, 10, 4]
    assert sum(size for _, size in seen) == whole.num_nodes


def test_nodes_are_lost_from_their_own_graphs_only(set_of_graphs):
    whole, _ = set_of_graphs
    way = ways(whole, "same")
    way[4] = WAYS.index("nodes")
    found = augmented(whole, way, 0.5, 0.2, seeded())
    before, after = torch.bincount(whole.graph_id), torch.bincount(found.graph_id, minlength=whole.num_graphs)
    assert after[4] == before[4] - before[4] // 2
    assert torch.equal(after[torch.arange(24) != 4], before[torch.arange(24) != 4])


def test_edges_are_lost_both_ways_and_from_their_own_graphs_only(set_of_graphs):
    whole, _ = set_of_graphs
    way = ways(whole, "same")
    way[::3] = WAYS.index("edges")
    found = augmented(whole, way, 0.5, 0.2, seeded())
    dense, old = found.graph.adjacency.to_dense(), whole.graph.adjacency.to_dense()
    assert torch.equal(dense, dense.T)
    changed = whole.graph_id[(dense != old).any(1)].unique()
    assert len(changed)
    assert (changed % 3 == 0).all()
    assert found.num_nodes == whole.num_nodes


def test_a_subgraph_is_what_is_nearest_to_one_node(set_of_graphs):
    whole, _ = set_of_graphs
    found = augmented(whole, ways(whole, "subgraph"), 0.1, 0.5, seeded())
    sizes = torch.bincount(whole.graph_id)
    assert torch.equal(torch.bincount(found.graph_id), (sizes // 2).clamp(min=1))
    # Rings and paths: what is near one node hangs together, by one edge less than it has nodes.
    edges = torch.bincount(found.graph_id[found.graph.edge_target], minlength=whole.num_graphs) // 2
    assert torch.equal(edges, torch.bincount(found.graph_id) - 1)


def test_features_are_random_at_some_nodes(set_of_graphs):
    whole, _ = set_of_graphs
    found = augmented(whole, ways(whole, "features"), 0.5, 0.2, seeded())
    changed = (found.x.dense() != whole.x.dense()).any(1)
    sizes = torch.bincount(whole.graph_id)
    assert torch.equal(torch.bincount(whole.graph_id[changed], minlength=whole.num_graphs), sizes // 2)
    same = augmented(whole, ways(whole, "same"), 0.5, 0.2, seeded())
    assert same.x is whole.x
    assert same.graph is whole.graph


def test_the_contrast_leaves_the_graph_itself_out_of_the_denominator():
    u, v = (torch.randn(6, 4, generator=seeded(seed)) for seed in (0, 1))
    likeness = (cosine_similarity(u[:, None], v[None], dim=2) / 0.2).exp()
    expected = torch.stack([-(likeness[i, i] / (likeness[i].sum() - likeness[i, i])).log() for i in range(6)]).mean()
    torch.testing.assert_close(told_apart(u, v, 0.2), expected)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8))
@settings(max_examples=40, deadline=None)
def test_the_projection_is_the_nearest_point_of_the_simplex(values):
    v = torch.tensor(values, dtype=torch.float64)
    p = on_simplex(v)
    assert (p >= 0).all()
    assert p.sum().item() == pytest.approx(1)
    # No corner of the simplex lies beyond the plane through p that faces v.
    assert ((torch.eye(len(v), dtype=torch.float64) - p) @ (v - p) <= 1e-9).all()
    torch.testing.assert_close(on_simplex(p), p)


def test_joao_moves_towards_hard_ways_and_stays_on_the_simplex(set_of_graphs):
    whole, _ = set_of_graphs
    method = made(JOAO, JOAOSettings(evenness=0.0), whole)
    torch.testing.assert_close(method.chances, torch.full((5,), 0.2))
    hard = {"nodes": 0.1, "edges": 0.0, "subgraph": 0.3, "features": 0.0, "same": 0.0}
    method._contrast = lambda batch, way, generator: torch.tensor(hard[WAYS[int(way[0])]])
    method.after_epoch(lambda: iter([whole]), seeded())
    assert method.chances.sum().item() == pytest.approx(1)
    assert method.chances.argmax() == WAYS.index("subgraph")
    torch.testing.assert_close(method.chances, torch.tensor([0.22, 0.12, 0.42, 0.12, 0.12]))
    drawn = method._ways(whole, seeded())
    assert set(drawn.tolist()) <= set(range(5))
    even = made(JOAO, JOAOSettings(evenness=1.0), whole)
    even.chances.copy_(torch.tensor([1.0, 0, 0, 0, 0]))
    even._contrast = lambda batch, way, generator: torch.tensor(0.0)
    even.after_epoch(lambda: iter([whole]), seeded())
    torch.testing.assert_close(even.chances, torch.full((5,), 0.2))


def test_joaov2_has_a_projector_for_each_way(set_of_graphs):
    whole, _ = set_of_graphs
    method = made(JOAOv2, JOAOv2Settings(), whole)
    h = torch.randn(5, 16, generator=seeded())
    found = method.project(h, torch.arange(5))
    for index, one in enumerate(method.projectors):
        torch.testing.assert_close(found[index], one(h[index : index + 1])[0])
    torch.testing.assert_close(method.project(h, None), method.projectors[WAYS.index("same")](h))


def test_simgrace_disturbs_the_encoder_and_lets_no_gradient_through(set_of_graphs):
    whole, _ = set_of_graphs
    method = made(SimGRACE, SimGRACESettings(disturbance=0.0), whole, norm="batch")
    before = {name: value.clone() for name, value in method.encoder.named_buffers()}
    torch.testing.assert_close(method._disturbed(whole, seeded()), method.read(whole))
    method = made(SimGRACE, SimGRACESettings(disturbance=1.0), whole, norm="batch")
    weights = [p.clone() for p in method.encoder.parameters()]
    assert not torch.allclose(method._disturbed(whole, seeded()), method.read(whole))
    assert all(torch.equal(a, b) for a, b in zip(weights, method.encoder.parameters(), strict=True))
    method = made(SimGRACE, SimGRACESettings(), whole, norm="batch")
    method._disturbed(whole, seeded())
    assert all(torch.equal(before[name], value) for name, value in method.encoder.named_buffers())
    loss = method.losses(whole, seeded())["contrast"]
    torch.manual_seed(0)
    clean = method.projector(method.read(whole))
    with torch.no_grad():
        fixed = method.projector(method._disturbed(whole, seeded()))
    torch.testing.assert_close(loss, told_apart(fixed, clean, 0.2))


def test_infograph_is_its_formula(set_of_graphs):
    whole, _ = set_of_graphs
    method = made(InfoGraph, InfoGraphSettings(), whole)
    found = method.losses(whole, seeded())["told"]
    h = torch.cat(method.encoder(whole.x, whole.graph), 1)
    local, world = method.local(h), method.whole(whole.pool(h, "sum"))
    joined, apart = [], []
    for i in range(whole.num_nodes):
        for k in range(whole.num_graphs):
            s = local[i] @ world[k]
            if whole.graph_id[i] == k:
                joined.append(math.log(2) - softplus(-s))
            else:
                apart.append(softplus(-s) + s - math.log(2))
    torch.testing.assert_close(found, torch.stack(apart).mean() - torch.stack(joined).mean(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", LEVEL)
def test_every_method_of_sets_learns_and_embeds_graphs(name, set_of_graphs):
    whole, _ = set_of_graphs
    recipe = method_recipe(name, "mutag").with_values({"hidden": 8, "epochs": 3, "per_batch": 8})
    if name == "girl":
        recipe = recipe.with_values({"rank": 16, "target_rank": 4})
    run = pretrain(whole, recipe)
    assert run.vectors.shape == (whole.num_graphs, run.method.width)
    assert run.vectors.isfinite().all()
    assert not torch.allclose(run.vectors, embed_untrained(whole, recipe))


@pytest.mark.parametrize("name", [name for name, entry in methods().items() if entry.level == "graphs"])
def test_methods_of_sets_want_a_set(name, graph_and_labels):
    with pytest.raises(InputError, match="expected a set of graphs"):
        pretrain(graph_and_labels[0], method_recipe(name).with_values({"epochs": 1}))


def test_ways_that_are_unknown_are_named():
    for bad in ({"ways": ()}, {"ways": ("leaves",)}, {"share": 1.0}, {"kept": 0.0}, {"temperature": 0.0}):
        with pytest.raises(InputError, match=next(iter(bad))):
            GraphCLSettings(**bad)
    with pytest.raises(InputError, match="evenness"):
        JOAOSettings(evenness=-1.0)
    with pytest.raises(InputError, match="disturbance"):
        SimGRACESettings(disturbance=-1.0)
