from __future__ import annotations

import pytest
import torch

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.graph.node_features import NodeFeatures
from girl.methods.girl import TARGETS, GIRLMethod, GIRLSettings
from girl.nn.encoder import EncoderSettings


def method(whole, encoder=None, **settings):
    torch.manual_seed(0)
    made = GIRLMethod(
        whole.x.shape[1],
        EncoderSettings(**{"conv": "gcn", "layers": 2, "hidden": 16, **(encoder or {})}),
        GIRLSettings(**settings),
    )
    made.prepare(whole, torch.Generator().manual_seed(0))
    return made


def losses(made, batch, seed=0):
    return made.losses(batch, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("target", list(TARGETS))
@pytest.mark.parametrize("at", ["last", "every"])
def test_every_target_gives_a_share_and_a_gradient(target, at, graph_and_labels):
    whole, _ = graph_and_labels
    made = method(whole, targets=(target,), at=at, rank=32, target_rank=8)
    terms = losses(made, whole)
    assert list(terms) == (["layer 1", "layer 2"] if at == "every" else ["layer 2"])
    assert all(0 < term.item() < 1.5 for term in terms.values())
    sum(terms.values()).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in made.encoder.parameters())


@pytest.mark.parametrize("target", ["features", "around", "smooth"])
@pytest.mark.parametrize("target_rank", [0, 8])
def test_sparse_and_dense_features_give_the_same_loss(target, target_rank, graph_and_labels):
    whole, _ = graph_and_labels
    thick = Batch(NodeFeatures(dense=whole.x.dense()), whole.graph)
    found = [
        losses(method(w, targets=(target,), target_rank=target_rank, dropout=0.0, rank=32), w)["layer 2"].item()
        for w in (whole, thick)
    ]
    # A sparse target is not centred: its mean is one more thing to explain, so the two shares differ a little there.
    assert found[0] == pytest.approx(found[1], rel=0.1 if (target, target_rank) == ("features", 0) else 1e-3)


def test_greedy_layers_do_not_hear_of_each_other(graph_and_labels):
    whole, _ = graph_and_labels
    for mode in ("greedy", "joint"):
        made = method(whole, targets=("input",), at="every", mode=mode, rank=32)
        losses(made, whole)["layer 2"].backward()
        assert (made.encoder.convolutions[0].linear.weight.grad is None) == (mode == "greedy")


def test_the_rows_of_the_loss_are_drawn_anew(graph_and_labels):
    whole, _ = graph_and_labels
    made = method(whole, rows=50, rank=16)
    assert losses(made, whole, 0) == losses(made, whole, 0)
    assert losses(made, whole, 0) != losses(made, whole, 1)


def test_a_batch_reads_its_own_part_of_the_targets(graph_and_labels):
    whole, _ = graph_and_labels
    made = method(whole, dropout=0.0, rank=16)
    # All nodes in another order, as a batch: the same loss, with Fourier features and the mean bandwidth.
    nodes = torch.randperm(whole.num_nodes, generator=torch.Generator().manual_seed(3))
    moved = losses(made, whole.subgraph(nodes))["layer 2"].item()
    assert losses(made, whole)["layer 2"].item() == pytest.approx(moved, rel=1e-3)


@pytest.mark.parametrize("output", ["last", "layers"])
@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("keep", [0.0, 0.5])
def test_representations(output, unit, keep, graph_and_labels):
    whole, _ = graph_and_labels
    made = method(whole, {"output": output, "unit": unit, "keep": keep, "layers": 3})
    h = made.embed(whole)
    count = {"last": 1, "layers": 3}[output]
    kept = min(whole.x.shape[1], 16) if keep else 0
    assert h.shape == (whole.num_nodes, kept + 16 * count)
    assert not h.requires_grad
    features, layers = h[:, :kept], h[:, kept:]
    lengths = layers.square().sum(1)
    lengths = lengths if unit else lengths.mean()
    torch.testing.assert_close(lengths, torch.full_like(lengths, count))
    if keep:
        assert spread(features) == pytest.approx(keep * spread(layers), rel=1e-4)
    torch.testing.assert_close(h, made.embed(whole))


def spread(part):
    return part.var(0, correction=0).sum().sqrt().item()


def test_nodes_in_another_order_have_the_same_representations(graph_and_labels):
    whole, _ = graph_and_labels
    made = method(whole)
    order = torch.randperm(whole.num_nodes)
    moved = whole.subgraph(order)
    torch.testing.assert_close(made.embed(Batch(moved.x, moved.graph)), made.embed(whole)[order], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"targets": ()}, "targets"),
        ({"targets": ("inputs",)}, "did you mean 'input'"),
        ({"mode": "greedy"}, "every"),
        ({"dropout": 1.0}, "dropout"),
        ({"rank": 0}, "rank"),
    ],
)
def test_wrong_settings_say_what_is_expected(wrong, word):
    with pytest.raises(InputError, match=word):
        GIRLSettings(**wrong)
