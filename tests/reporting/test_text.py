from __future__ import annotations

import re

import numpy as np
import pytest

from girl.reporting.text import degree_bars, number, percent, size_bars, training


@pytest.mark.parametrize("most", [0, 1, 10, 11, 1000])
def test_every_node_is_in_one_bar_of_degrees(most):
    degree = np.random.default_rng(0).integers(0, most + 1, 500)
    degree[0] = most
    bars = degree_bars(degree)
    assert sum(count for _, count, _ in bars) == 500
    assert max(share for _, _, share in bars) == 1


@pytest.mark.parametrize(("least", "most"), [(1, 1), (3, 9), (10, 28), (97, 403), (1000, 7999), (2, 5000)])
def test_every_graph_is_in_one_bar_of_sizes(least, most):
    sizes = np.random.default_rng(0).integers(least, most + 1, 500)
    sizes[:2] = least, most
    bars = size_bars(sizes)
    assert sum(count for _, count, _ in bars) == 500
    assert max(share for _, _, share in bars) == 1
    assert len(bars) <= 14
    assert bars[0][1]
    assert bars[-1][1]


def test_sizes_that_are_alike_stand_in_even_steps():
    assert [name for name, _, _ in size_bars(np.array([10, 28, 17]))][:2] == ["10–11", "12–13"]


def test_training_is_told_in_words():
    assert training([]) is None

    def words(values):
        return training([{"layer 1": float(value)} for value in values]).curves[0].words

    assert "still falling" in words(np.linspace(1, 0.5, 30))
    assert "levelled off" in words(0.5 + 0.5 * np.exp(-np.arange(60)))
    noise = np.random.default_rng(0).normal(size=(20, 60)) / 50
    assert sum("levelled off" not in words(0.5 + line) for line in noise) <= 1, "a curve that only jumps has no trend"
    assert all("still falling" in words(np.linspace(1, 0.2, 60) + line) for line in noise / 10)
    assert "rose" in words(np.linspace(0.5, 0.8, 30))
    assert "too few" in words([0.5, 0.4])
    found = training([{"layer 1": 0.73, "layer 2": 0.61}, {"layer 1": 0.70, "layer 2": 0.55}])
    assert [curve.name for curve in found.curves] == ["layer 1", "layer 2"]
    heights = [float(top) for top in re.findall(r",([\d.]+)", "".join(curve.path for curve in found.curves))]
    assert all(0 <= height <= 100 for height in heights)
    assert [text for _, text in found.ticks] == sorted((text for _, text in found.ticks), reverse=True)


@pytest.mark.parametrize(
    ("value", "text"), [(1234567, "1,234,567"), (0.12345, "0.123"), (12.0, "12"), (4321.5, "4,322"), ("a", "a")]
)
def test_numbers_are_for_people(value, text):
    assert number(value) == text


def test_a_small_share_is_not_called_nothing():
    assert percent(0.5) == "50.0\u00a0%"
    assert percent(0) == "0.0\u00a0%"
    assert percent(1e-6) == "<\u00a00.1\u00a0%"
