from __future__ import annotations

import pytest
import torch

from girl.errors import InputError
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.nn.classifier import Classifier, ClassifierSettings


@pytest.fixture
def problem():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(50, 20, generator=generator) * (torch.rand(50, 20, generator=generator) < 0.2)
    edges = torch.randint(50, (2, 150), generator=generator)
    return NodeFeatures.from_tensor(x.to_sparse_csr()), Graph.from_edges(edges, 50)


@pytest.mark.parametrize("conv", ["sage", "gcn", "gat", "gatv2", "gin"])
@pytest.mark.parametrize("fully_adjacent", [False, True])
def test_prediction_layer_by_layer_equals_at_once(conv, fully_adjacent, problem):
    if fully_adjacent and conv in ("gat", "gatv2"):
        with pytest.raises(InputError, match="attention"):
            ClassifierSettings(conv=conv, fully_adjacent=True)
        return
    model = Classifier(20, 4, ClassifierSettings(conv, depth=3, hidden=8, fully_adjacent=fully_adjacent))
    found = model.predict(*problem)
    assert not found.requires_grad
    torch.testing.assert_close(found, model(*problem), rtol=1e-4, atol=1e-5)
    *_, last = model.iter_layers(*problem)
    torch.testing.assert_close(model.logits(last), found)


def test_a_fully_adjacent_layer_hears_from_other_components():
    x = NodeFeatures.from_tensor(torch.eye(6), "none")
    graph = Graph.from_edges(torch.tensor([[0], [1]]), 6)
    other = torch.eye(6)
    other[5, 5] = 9.0
    for fully_adjacent in (False, True):
        torch.manual_seed(0)
        model = Classifier(6, 2, ClassifierSettings(depth=2, hidden=8, fully_adjacent=fully_adjacent))
        moved = (model.predict(x, graph) - model.predict(NodeFeatures.from_tensor(other, "none"), graph))[0].abs().max()
        assert (moved > 1e-6) == fully_adjacent


def test_dropout_comes_from_the_generator_and_keeps_the_mean(problem):
    model = Classifier(20, 4, ClassifierSettings(depth=2, hidden=512, head=1, dropout=0.5))
    one, two = (model(*problem, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(one, two)
    assert not torch.equal(one, model(*problem))
    h = torch.ones(200, 500)
    dropped = model._dropout(h, torch.Generator().manual_seed(0))
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert dropped.mean().item() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(("depth", "head"), [(1, 1), (18, 3)])
def test_depths(depth, head, problem):
    model = Classifier(20, 4, ClassifierSettings(depth=depth, head=head, hidden=8))
    assert model(*problem).shape == (50, 4)
    assert len(model.head) == head


@pytest.mark.parametrize(
    ("wrong", "word"), [({"depth": 0}, "depth"), ({"dropout": 1.0}, "dropout"), ({"conv": "saeg"}, "sage")]
)
def test_wrong_settings_say_what_is_expected(wrong, word):
    with pytest.raises(InputError, match=word):
        ClassifierSettings(**wrong)
