from __future__ import annotations

import pytest
import torch

from girl.errors import InputError
from girl.nn.convolution import CONVS
from girl.nn.encoder import Encoder, EncoderSettings
from girl.nn.features import Features
from girl.nn.graph import Graph


@pytest.fixture
def problem():
    torch.manual_seed(0)
    x = torch.randn(50, 20) * (torch.rand(50, 20) < 0.2)
    return Features.of(x.to_sparse_csr()), Graph.from_edges(torch.randint(50, (2, 150)), 50)


@pytest.mark.parametrize("conv", list(CONVS))
@pytest.mark.parametrize("extra", [{}, {"norm": "layer", "skip": True}, {"norm": "batch", "activation": "prelu"}])
def test_layer_by_layer_in_chunks_equals_at_once(conv, extra, problem):
    encoder = Encoder(20, EncoderSettings(conv=conv, hidden=8, layers=3, **extra)).eval()
    at_once = encoder(*problem)
    for whole, layer in zip(at_once, encoder.by_layer(*problem, chunk=7), strict=True):
        torch.testing.assert_close(layer, whole, rtol=1e-4, atol=1e-5)
        assert not layer.requires_grad


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
