from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.methods.girl import TARGETS, GIRLMethod, GIRLSettings
from girl.training.recipe import Recipe
from tests.helpers.methods import build, seeded


def prepared(data, encoder=None, **settings):
    method = build(GIRLMethod, GIRLSettings(**settings), data, **{"hidden": 16, **(encoder or {})})
    method.prepare(data, seeded())
    return method


def losses(method, batch, seed=0):
    return method.losses(batch, seeded(seed))


def rho(y, x):
    """Theorem 2 of the paper for p = 2: the image of K is spanned by eigenvectors above 1e-4 of the largest value."""
    distances = torch.cdist(x, x).square()
    values, vectors = torch.linalg.eigh(torch.exp(-distances / distances.mean()))
    image = vectors[:, values > 1e-4 * values.max()]
    return (y - image @ (image.T @ y)).square().mean(0).sqrt().mean()


def algorithm_1(x, adjacency, weights, biases, neighbors):
    """The loss of Algorithm 1 with GCN layers and ELU, given the neighbour drawn for each node at each layer."""
    a = adjacency + torch.eye(len(x), dtype=x.dtype)
    a = a / (a.sum(1, keepdim=True) * a.sum(1)).sqrt()
    total = torch.zeros((), dtype=x.dtype)
    for weight, bias, neighbor in zip(weights, biases, neighbors, strict=True):
        h = torch.nn.functional.elu(a @ x @ weight + bias)
        total = total + rho(x, h) + rho(x[neighbor], h)
        x = h
    return total


def test_the_recipe_paper_is_algorithm_1(monkeypatch):
    generator = seeded(3)
    x = torch.randn(30, 7, generator=generator)
    data = Batch(
        NodeFeatures.from_tensor(x, "none"), Graph.from_edges(torch.randint(30, (2, 60), generator=generator), 30)
    )
    recipe = Recipe.load("paper").with_values({"hidden": 5})
    torch.manual_seed(0)
    method = GIRLMethod(7, recipe.encoder, recipe.method)
    method.prepare(data, seeded())
    draws, sample = [], Graph.sample_neighbors
    monkeypatch.setattr(Graph, "sample_neighbors", lambda *args: draws.append(sample(*args)) or draws[-1])
    loss = sum(losses(method, data).values())
    parameters = [p for conv in method.encoder.convolutions for p in (conv.linear.weight, conv.bias)]
    gradient = torch.autograd.grad(loss, parameters)

    wide = [p.detach().double().requires_grad_() for p in parameters]
    adjacency = data.graph.adjacency.to_dense().double()
    expected = algorithm_1(x.double(), adjacency, wide[::2], wide[1::2], draws)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-4, atol=0)
    for ours, theirs in zip(gradient, torch.autograd.grad(expected, wide), strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-2, atol=1e-3 * theirs.abs().max().item())
    assert all(bool(adjacency[i, j]) for draw in draws for i, j in enumerate(draw.tolist()) if adjacency[i].any())
    assert recipe.train.optimizer == "sgd"


def test_the_recipe_released_has_the_numbers_of_the_released_code():
    recipe = Recipe.load("released")
    s, train = recipe.method, recipe.train
    assert (s.rows, s.reduction, s.target_scaling, s.detach_targets, s.mode) == (2048, "sum", "none", True, "greedy")
    assert (train.optimizer, train.lr, train.weight_decay, train.patience) == ("adamw", 1e-3, 5e-4, 20)
    assert recipe.encoder.hidden == 32


def test_released_1024_is_the_released_objective_on_fewer_rows_with_scaled_targets():
    released, small = Recipe.load("released").method, Recipe.load("released-1024").method
    assert replace(small, rows=2048, reduction="sum", target_scaling="none", whiten=released.whiten) == released


def test_the_mean_over_targets_is_their_sum_divided_by_their_number(data):
    both = [prepared(data, reduction=reduction, dropout=0.0, rank=16, target_rank=8) for reduction in ("sum", "mean")]
    total, mean = (losses(method, data)["layer 2"] for method in both)
    torch.testing.assert_close(total, 2 * mean)


@pytest.mark.parametrize("detach", [True, False])
def test_detached_targets_have_no_gradient(detach, data):
    settings = {"targets": ("input",), "loss_at": "every", "kernel": "exact", "dropout": 0.0, "detach_targets": detach}
    method = prepared(data, target_scaling="none", **settings)
    outputs = method.encoder(data.x, data.graph)
    below = outputs[0].detach() if detach else outputs[0]
    expected = method.kr(outputs[1], below)
    weight = method.encoder.convolutions[0].linear.weight
    slope = torch.autograd.grad(losses(method, data)["layer 2"], weight)[0]
    torch.testing.assert_close(slope, torch.autograd.grad(expected, weight)[0], rtol=1e-4, atol=1e-6)


def test_a_target_of_another_scale_gives_the_same_loss_unless_scaling_is_off(data):
    larger = Batch(NodeFeatures(dense=3 * data.x.dense()), data.graph)
    for scaling, factor in (("unit", 1.0), ("none", 3.0)):
        settings = {"targets": ("features",), "target_scaling": scaling, "target_rank": 8, "dropout": 0.0, "rank": 16}
        values = []
        for target in (data, larger):
            method = build(GIRLMethod, GIRLSettings(**settings), data)
            method.prepare(target, seeded())
            values.append(losses(method, data)["layer 2"].item())
        assert values[1] == pytest.approx(factor * values[0], rel=1e-3)


@pytest.mark.parametrize("target", list(TARGETS))
@pytest.mark.parametrize("loss_at", ["last", "every"])
def test_every_target_gives_a_fraction_and_a_gradient(target, loss_at, data):
    method = prepared(data, targets=(target,), loss_at=loss_at, rank=32, target_rank=8)
    terms = losses(method, data)
    assert list(terms) == (["layer 1", "layer 2"] if loss_at == "every" else ["layer 2"])
    assert all(0 < term.item() < 1.5 for term in terms.values())
    sum(terms.values()).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in method.encoder.parameters())


@pytest.mark.parametrize("target", ["features", "neighborhood", "smooth"])
@pytest.mark.parametrize("target_rank", [0, 8])
def test_sparse_and_dense_features_give_the_same_loss(target, target_rank, data):
    dense = Batch(NodeFeatures(dense=data.x.dense()), data.graph)
    settings = {"targets": (target,), "target_rank": target_rank, "dropout": 0.0, "rank": 32}
    sparse_loss, dense_loss = (losses(prepared(d, **settings), d)["layer 2"].item() for d in (data, dense))
    # A sparse target is not centred: its mean is one more thing to explain.
    tolerance = 0.1 if (target, target_rank) == ("features", 0) else 1e-3
    assert sparse_loss == pytest.approx(dense_loss, rel=tolerance)


@pytest.mark.parametrize("mode", ["greedy", "joint"])
def test_greedy_cuts_gradients_between_layers(mode, data):
    method = prepared(data, targets=("input",), loss_at="every", mode=mode, rank=32)
    losses(method, data)["layer 2"].backward()
    assert (method.encoder.convolutions[0].linear.weight.grad is None) == (mode == "greedy")


def test_rows_of_the_loss_depend_on_the_generator_only(data):
    method = prepared(data, rows=50, rank=16)
    assert losses(method, data, 0) == losses(method, data, 0)
    assert losses(method, data, 0) != losses(method, data, 1)


def test_the_order_of_nodes_does_not_change_the_loss(data):
    method = prepared(data, dropout=0.0, rank=16)
    order = torch.randperm(data.num_nodes, generator=seeded(3))
    moved = losses(method, data.subgraph(order))["layer 2"].item()
    assert losses(method, data)["layer 2"].item() == pytest.approx(moved, rel=1e-3)


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"targets": ()}, "targets"),
        ({"targets": ("inputs",)}, "did you mean 'input'"),
        ({"mode": "greedy"}, "every"),
        ({"mode": "greedy", "loss_at": "every", "detach_targets": False}, "detach_targets"),
        ({"reduction": "max"}, "reduction"),
        ({"target_scaling": "max"}, "target_scaling"),
        ({"dropout": 1.0}, "dropout"),
        ({"rank": 0}, "rank"),
    ],
)
def test_wrong_settings_say_what_is_expected(wrong, word):
    with pytest.raises(InputError, match=word):
        GIRLSettings(**wrong)
