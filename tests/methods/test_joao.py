from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from girl.errors import InputError
from girl.methods.augment import AUGMENTATIONS
from girl.methods.joao import JOAO, JOAOSettings, project_to_simplex
from tests.helpers.methods import build_for_sets, seeded


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8))
@settings(max_examples=40, deadline=None)
def test_the_projection_is_the_nearest_point_of_the_simplex(values):
    v = torch.tensor(values, dtype=torch.float64)
    p = project_to_simplex(v)
    assert (p >= 0).all()
    assert p.sum().item() == pytest.approx(1)
    # Optimality: no corner of the simplex lies beyond the plane through p that is orthogonal to v - p.
    assert ((torch.eye(len(v), dtype=torch.float64) - p) @ (v - p) <= 1e-9).all()
    torch.testing.assert_close(project_to_simplex(p), p)


def test_probabilities_move_towards_augmentations_with_a_high_loss(graphs):
    method = build_for_sets(JOAO, JOAOSettings(gamma=0.0), graphs)
    torch.testing.assert_close(method.probabilities, torch.full((5,), 0.2))
    losses = {"nodes": 0.1, "edges": 0.0, "subgraph": 0.3, "features": 0.0, "identity": 0.0}
    method._contrast = lambda batch, choice, generator: torch.tensor(losses[AUGMENTATIONS[int(choice[0])]])
    method.after_epoch(lambda: iter([graphs]), seeded())
    torch.testing.assert_close(method.probabilities, torch.tensor([0.22, 0.12, 0.42, 0.12, 0.12]))


def test_gamma_draws_the_probabilities_to_uniform(graphs):
    method = build_for_sets(JOAO, JOAOSettings(gamma=1.0), graphs)
    method.probabilities.copy_(torch.tensor([1.0, 0, 0, 0, 0]))
    method._contrast = lambda batch, choice, generator: torch.tensor(0.0)
    method.after_epoch(lambda: iter([graphs]), seeded())
    torch.testing.assert_close(method.probabilities, torch.full((5,), 0.2))


def test_augmentations_of_probability_zero_are_not_drawn(graphs):
    method = build_for_sets(JOAO, JOAOSettings(), graphs)
    method.probabilities.copy_(torch.tensor([0, 0.5, 0, 0.5, 0]))
    assert set(method._draw(graphs, seeded()).tolist()) == {1, 3}


def test_a_negative_gamma_is_refused():
    with pytest.raises(InputError, match="gamma"):
        JOAOSettings(gamma=-1.0)
