from __future__ import annotations

import copy
import gc

import pytest
import torch
from torch import nn
from torch_geometric.nn import GCN, GCNConv

from girl.nn.encoder import Encoder, EncoderSettings
from girl.nn.layer_outputs import LayerOutputs, message_passing_layers, named_layers

X, EDGES = torch.randn(6, 4), torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])


def watch(model, **options):
    return LayerOutputs(model, message_passing_layers(model), **options)


def test_outputs_are_those_of_the_layers_in_order():
    model = GCN(4, 8, 3)
    outputs = watch(model)
    last = model(X, EDGES)
    taken = outputs.take()
    assert list(taken) == ["convs.0", "convs.1", "convs.2"]
    assert taken["convs.2"][0] is last
    assert outputs.take() == {}


def test_only_the_latest_run_is_collected_and_only_with_gradients():
    model = GCN(4, 8, 2)
    outputs, always = watch(model), watch(model, always=True)
    model(X, EDGES)
    model(2 * X, EDGES)
    assert [len(runs) for runs in outputs.take().values()] == [1, 1]
    with torch.no_grad():
        model(X, EDGES)
    assert outputs.take() == {}
    assert len(always.take()) == 2


def test_outermost_layers_of_torch_geometric_and_girl_are_listed():
    class Wrapped(GCNConv):
        def __init__(self):
            super().__init__(4, 8)
            self.inner = GCNConv(4, 8)

    assert list(message_passing_layers(nn.Sequential(Wrapped(), nn.Linear(8, 8)))) == ["0"]
    encoder = Encoder(4, EncoderSettings(conv="sage", hidden=8, layers=2))
    assert list(message_passing_layers(encoder)) == ["convolutions.0", "convolutions.1"]


def test_layers_are_named_by_path_or_by_module():
    model = GCN(4, 8, 2)
    assert list(named_layers(model, ["convs.1", model.convs[0]])) == ["convs.1", "convs.0"]
    with pytest.raises(ValueError, match=r"no part 'convs.7'.*'convs.0'"):
        named_layers(model, ["convs.7"])
    with pytest.raises(ValueError, match="no part of the model"):
        named_layers(model, [nn.Linear(2, 2)])


def test_a_layer_that_returns_no_tensor_is_refused():
    class Odd(nn.Module):
        def forward(self, x):
            return {"x": x}

    model = nn.Sequential(Odd())
    outputs = LayerOutputs(model, {"0": model[0]})
    assert outputs.names == ["0"]
    with pytest.raises(TypeError, match="layer '0': puts out a dict"):
        model(X)


def test_hooks_are_removed_and_copies_are_not_watched():
    model = GCN(4, 8, 2)
    outputs = watch(model)
    copy.deepcopy(model)(X, EDGES)
    assert outputs.take() == {}

    def hooks():
        return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())

    assert hooks() == 4
    outputs.remove()
    assert hooks() == 0
    outputs = watch(model)
    del outputs
    gc.collect()
    assert hooks() == 0
