from __future__ import annotations

import math

import pytest
import torch
from torch.nn.functional import one_hot

from girl.nn import diagnosis
from girl.nn.diagnosis import unexplained_fraction, unexplained_fractions
from tests.helpers.methods import seeded

Y = torch.arange(300) % 3


def test_labels_explain_themselves_and_noise_explains_nothing():
    noise = torch.randn(300, 4, generator=seeded())
    assert unexplained_fraction(one_hot(Y).float() + 0.01 * noise[:, :3], Y, seeded()) < 0.05
    assert unexplained_fraction(noise, Y, seeded()) == pytest.approx(1, abs=0.1)


def test_an_output_that_only_separates_nodes_explains_nothing():
    assert unexplained_fraction(100 * torch.eye(300), Y, seeded()) == pytest.approx(1, abs=0.05)


def test_classes_and_their_indicators_are_the_same_labels():
    h = torch.randn(300, 4, generator=seeded())
    assert unexplained_fraction(h, Y, seeded()) == unexplained_fraction(h, one_hot(Y), seeded())


def test_equal_rows_explain_nothing_and_equal_labels_cannot_be_explained():
    assert unexplained_fraction(torch.ones(300, 4), Y) == 1.0
    assert math.isnan(unexplained_fraction(torch.randn(300, 4), torch.zeros(300, dtype=torch.long)))
    assert math.isnan(unexplained_fraction(torch.randn(1, 4), Y[:1]))


def test_a_layer_has_the_same_value_wherever_it_stands(monkeypatch):
    monkeypatch.setattr(diagnosis, "ROWS", 100)
    first, second = (torch.randn(300, 4, generator=seeded(seed)) for seed in (0, 1))
    nodes = torch.arange(20, 280)
    one, two = unexplained_fractions([first, second], Y, nodes)
    assert unexplained_fractions([second, first], Y, nodes) == [two, one]
