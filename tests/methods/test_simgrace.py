from __future__ import annotations

import pytest
import torch

from girl.errors import InputError
from girl.methods.graphcl import graph_contrast
from girl.methods.simgrace import SimGRACE, SimGRACESettings
from tests.helpers.methods import build_for_sets, seeded


def test_without_noise_the_perturbed_encoder_is_the_encoder(graphs):
    method = build_for_sets(SimGRACE, SimGRACESettings(eta=0.0), graphs, norm="batch")
    torch.testing.assert_close(method._embed_perturbed(graphs, seeded()), method.embed_graphs(graphs))


def test_perturbing_leaves_weights_and_statistics_as_they_are(graphs):
    method = build_for_sets(SimGRACE, SimGRACESettings(), graphs, norm="batch")
    before = {name: value.clone() for name, value in method.encoder.state_dict().items()}
    perturbed = method._embed_perturbed(graphs, seeded())
    assert all(torch.equal(before[name], value) for name, value in method.encoder.state_dict().items())
    assert not torch.allclose(perturbed, method.embed_graphs(graphs))


def test_loss_equals_the_contrast_with_a_view_without_gradient(graphs):
    method = build_for_sets(SimGRACE, SimGRACESettings(), graphs)
    loss = method.losses(graphs, seeded())["contrast"]
    view = method.projector(method._embed_perturbed(graphs, seeded())).detach()
    expected = graph_contrast(view, method.projector(method.embed_graphs(graphs)), 0.2)
    torch.testing.assert_close(loss, expected)
    parameters = list(method.encoder.parameters())
    torch.testing.assert_close(torch.autograd.grad(loss, parameters), torch.autograd.grad(expected, parameters))


def test_negative_noise_is_refused():
    with pytest.raises(InputError, match="eta"):
        SimGRACESettings(eta=-1.0)
