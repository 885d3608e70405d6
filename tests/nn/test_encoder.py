from __future__ import annotations

import pytest
import torch

from girl.errors import InputError
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.nn.convolutions import CONVS
from girl.nn.encoder import Encoder, EncoderSettings, _chunks


@pytest.fixture
def problem():
    torch.manual_seed(0)
    x = torch.randn(50, 20) * (torch.rand(50, 20) < 0.2)
    return NodeFeatures.from_tensor(x.to_sparse_csr()), Graph.from_edges(torch.randint(50, (2, 150)), 50)


@pytest.mark.parametrize("conv", list(CONVS))
@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"norm": "layer", "skip": True},
        {"norm": "batch", "activation": "prelu"},
        {"norm": "batch", "act_first": True},
    ],
)
def test_layer_by_layer_in_chunks_equals_at_once(conv, extra, problem):
    encoder = Encoder(20, EncoderSettings(conv=conv, hidden=8, layers=3, **extra)).eval()
    at_once = encoder(*problem)
    for whole, layer in zip(at_once, encoder.iter_layers(*problem, chunk=7), strict=True):
        torch.testing.assert_close(layer, whole, rtol=1e-4, atol=1e-5)
        assert not layer.requires_grad


def test_the_norm_comes_before_the_activation_or_after_it(problem):
    settings = {"conv": "gin", "hidden": 8, "layers": 1, "norm": "batch", "activation": "relu"}
    (before,) = Encoder(20, EncoderSettings(**settings))(*problem)
    (after,) = Encoder(20, EncoderSettings(**settings, act_first=True))(*problem)
    assert bool((before >= 0).all())
    torch.testing.assert_close(after.mean(0), torch.zeros(8), atol=1e-5, rtol=0)


def test_greedy_cuts_the_gradient_between_layers(problem):
    encoder = Encoder(20, EncoderSettings(conv="gcn", hidden=8, layers=2))
    encoder(*problem, greedy=True)[1].sum().backward()
    assert encoder.convolutions[0].linear.weight.grad is None
    encoder(*problem)[1].sum().backward()
    assert encoder.convolutions[0].linear.weight.grad is not None


def test_the_last_layer_of_some_rows(problem):
    encoder = Encoder(20, EncoderSettings(conv="gcn", hidden=8, layers=2))
    rows = torch.tensor([5, 1])
    first, second = encoder(*problem, rows=rows)
    assert first.shape == (50, 8)
    torch.testing.assert_close(second, encoder(*problem)[1][rows])


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"conv": "gnc"}, "gcn"),
        ({"layers": 0}, "at least 1"),
        ({"conv": "gatv2", "hidden": 6}, "multiple of heads"),
        ({"teleport": 0.0}, "teleport"),
    ],
)
def test_wrong_settings_say_what_is_expected(wrong, word):
    with pytest.raises(InputError, match=word):
        EncoderSettings(**wrong)


@pytest.mark.parametrize(("chunk", "most"), [(3, 10**6), (1000, 5), (7, 9), (1000, 1)])
def test_chunks_hold_every_node_once_and_not_too_many_edges(chunk, most):
    edges = torch.tensor([0, 3, 3, 9, 0, 0, 1, 2, 2, 0])
    found = list(_chunks(edges, chunk, most))
    assert torch.cat(found).tolist() == list(range(10))
    for nodes in found:
        assert len(nodes) <= chunk
        # The last node may begin below the limit and end above it.
        assert len(nodes) == 1 or edges[nodes[:-1]].sum() < most


def test_attention_is_the_same_in_small_chunks(problem):
    encoder = Encoder(20, EncoderSettings(conv="gatv2", hidden=8, layers=2)).eval()
    for whole, parts in zip(encoder(*problem), encoder.iter_layers(*problem, chunk_edges=7), strict=True):
        torch.testing.assert_close(parts, whole, rtol=1e-4, atol=1e-5)
