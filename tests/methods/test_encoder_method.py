from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from girl.graph.batch import Batch
from girl.methods.dgi import DGI, DGISettings
from girl.training.recipe import Recipe
from girl.training.run import pretrain
from tests.helpers.methods import build, build_for_sets, seeded


def fitted(data, **encoder):
    method = build(DGI, DGISettings(), data, **encoder)
    method.prepare(data, seeded())
    return method, method.finish(data)


def total_std(part):
    return part.var(0, correction=0).sum().sqrt().item()


@pytest.mark.parametrize("output", ["last", "layers"])
@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("keep", [0.0, 0.5])
def test_layers_have_length_one_and_features_the_kept_deviation(output, unit, keep, data):
    method, h = fitted(data, output=output, unit=unit, keep=keep, layers=3)
    count = {"last": 1, "layers": 3}[output]
    columns = 8 if keep else 0
    assert h.shape == (data.num_nodes, method.width) == (data.num_nodes, columns + 8 * count)
    assert not h.requires_grad
    features, layers = h[:, :columns], h[:, columns:]
    lengths = layers.square().sum(1)
    lengths = lengths if unit else lengths.mean()
    torch.testing.assert_close(lengths, torch.full_like(lengths, count))
    if keep:
        assert total_std(features) == pytest.approx(keep * total_std(layers), rel=1e-4)
    torch.testing.assert_close(method.embed(data), h)


def test_embedding_before_finish_is_refused(data):
    method = build(DGI, DGISettings(), data)
    with pytest.raises(RuntimeError, match=r"DGI: not fitted; call finish\(data\)"):
        method.embed(data)


@pytest.mark.parametrize("readout", ["sum", "kernel"])
def test_embedding_another_set_changes_nothing(readout, graphs):
    method = build_for_sets(DGI, DGISettings(), graphs, readout=readout)
    first = method.finish(graphs)
    before = {name: value.clone() for name, value in method.state_dict().items()}
    other = graphs.subgraph(torch.nonzero(graphs.graph_id < 9).flatten(), renumber_graphs=True)
    torch.testing.assert_close(method.embed(other), first[:9], rtol=1e-4, atol=1e-5)
    assert all(torch.equal(before[name], value) for name, value in method.state_dict().items())


def test_a_loaded_method_is_fitted(data):
    method, h = fitted(data, keep=0.2)
    again = build(DGI, DGISettings(), data, keep=0.2)
    again.load_state_dict(method.state_dict())
    assert torch.equal(again.embed(data), h)


def test_even_a_layer_that_is_all_zero_is_fitted(data):
    method = build(DGI, DGISettings(), data, unit=False)
    with torch.no_grad():
        for weight in method.encoder.parameters():
            weight.zero_()
    assert torch.equal(method.finish(data), torch.zeros(data.num_nodes, 8))
    assert torch.equal(method.embed(data), torch.zeros(data.num_nodes, 8))


def test_the_order_of_nodes_permutes_the_embeddings(data):
    method, h = fitted(data, keep=0.2)
    order = torch.randperm(data.num_nodes, generator=seeded())
    moved = data.subgraph(order)
    torch.testing.assert_close(method.embed(Batch(moved.x, moved.graph)), h[order], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("readout", ["sum", "mean", "max", "kernel"])
@pytest.mark.parametrize("keep", [0.0, 0.2])
def test_a_graph_has_the_same_embedding_alone_as_in_the_set(readout, keep, graphs):
    recipe = Recipe.encoder_default().with_values(
        {"conv": "gin", "hidden": 8, "layers": 2, "output": "layers", "readout": readout, "keep": keep, "epochs": 2,
         "batch_size": 8, "rank": 16, "target_rank": 4, "unit": False}
    )  # fmt: skip
    run = pretrain(graphs, recipe)
    assert run.vectors.shape == (graphs.num_graphs, run.method.width)
    alone = graphs.subgraph(torch.nonzero(graphs.graph_id == 5).flatten(), renumber_graphs=True)
    torch.testing.assert_close(run.embed(alone)[0], run.vectors[5], rtol=1e-4, atol=1e-5)


def test_the_kernel_readout_has_its_own_rank_and_does_not_affect_nodes(graphs):
    recipe = Recipe.encoder_default().with_values(
        {"hidden": 8, "readout": "kernel", "readout_rank": 21, "keep": 0.0, "epochs": 1, "batch_size": 8, "rank": 16,
         "target_rank": 4}
    )  # fmt: skip
    run = pretrain(graphs, recipe)
    assert run.vectors.shape == (graphs.num_graphs, run.method.width) == (24, 21)
    nodes = replace(graphs, graph_id=None, num_graphs=0)
    assert run.embed(nodes).shape == (graphs.num_nodes, 8)
    run = pretrain(nodes, recipe)
    assert run.vectors.shape == (graphs.num_nodes, run.method.width) == (graphs.num_nodes, 8)
