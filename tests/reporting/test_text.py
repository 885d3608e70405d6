from __future__ import annotations

import re

import numpy as np
import pytest

from girl.evaluation.label_probe import Interval, LabelProbe
from girl.evaluation.neighborhood import GIRL
from girl.evaluation.quality import measure
from girl.reporting.text import (
    accuracy_rows,
    confusion_rows,
    degree_bars,
    highlights,
    number,
    percent,
    size_bars,
    training,
)


@pytest.mark.parametrize("most", [0, 1, 10, 11, 1000])
def test_every_node_is_counted_in_one_bar(most):
    degree = np.random.default_rng(0).integers(0, most + 1, 500)
    degree[0] = most
    bars = degree_bars(degree)
    assert sum(count for _, count, _ in bars) == 500
    assert max(length for _, _, length in bars) == 1


@pytest.mark.parametrize(("least", "most"), [(1, 1), (3, 9), (10, 28), (97, 403), (1000, 7999), (2, 5000)])
def test_every_graph_is_counted_in_one_bar(least, most):
    sizes = np.random.default_rng(0).integers(least, most + 1, 500)
    sizes[:2] = least, most
    bars = size_bars(sizes)
    assert sum(count for _, count, _ in bars) == 500
    assert max(length for _, _, length in bars) == 1
    assert len(bars) <= 14
    assert bars[0][1]
    assert bars[-1][1]


def test_similar_sizes_have_bins_of_equal_width():
    assert [name for name, _, _ in size_bars(np.array([10, 28, 17]))][:2] == ["10–11", "12–13"]


def test_the_trend_of_training_is_described():
    assert training([]) is None

    def trend(values):
        return training([{"layer 1": float(value)} for value in values]).curves[0].trend

    assert "still decreasing" in trend(np.linspace(1, 0.5, 30))
    assert "converged" in trend(0.5 + 0.5 * np.exp(-np.arange(60)))
    noise = np.random.default_rng(0).normal(size=(20, 60)) / 50
    assert sum("converged" not in trend(0.5 + line) for line in noise) <= 1, "noise alone is not a trend"
    assert all("still decreasing" in trend(np.linspace(1, 0.2, 60) + line) for line in noise / 10)
    assert "increased" in trend(np.linspace(0.5, 0.8, 30))
    assert "too few" in trend([0.5, 0.4])
    result = training([{"layer 1": 0.73, "layer 2": 0.61}, {"layer 1": 0.70, "layer 2": 0.55}])
    assert [curve.name for curve in result.curves] == ["layer 1", "layer 2"]
    heights = [float(top) for top in re.findall(r",([\d.]+)", "".join(curve.path for curve in result.curves))]
    assert all(0 <= height <= 100 for height in heights)
    assert [text for _, text in result.ticks] == sorted((text for _, text in result.ticks), reverse=True)


@pytest.mark.parametrize(
    ("value", "text"), [(1234567, "1,234,567"), (0.12345, "0.123"), (12.0, "12"), (4321.5, "4,322"), ("a", "a")]
)
def test_numbers_are_readable(value, text):
    assert number(value) == text


def test_a_small_fraction_is_not_shown_as_zero():
    assert percent(0.5) == "50.0\u00a0%"
    assert percent(0) == "0.0\u00a0%"
    assert percent(1e-6) == "<\u00a00.1\u00a0%"


def test_intervals_fit_on_the_axis_and_gains_state_a_verdict():
    accuracy = {"raw features": Interval(0.62, 0.58, 0.66), GIRL: Interval(0.97, 0.93, 1.0)}
    gain = {"raw features": Interval(0.35, 0.3, 0.4), "untrained encoder": Interval(-0.01, -0.05, 0.03)}
    probe = LabelProbe(accuracy, gain, 0.5, ["a", "b"], [[9, 1], [0, 10]], 100, 10, 0)
    spans, axis, gains = accuracy_rows(probe)
    assert axis == ["55\u00a0%", "77.5\u00a0%", "100\u00a0%"]
    for span, interval in zip(spans, accuracy.values(), strict=True):
        assert 0 <= span.left <= span.dot <= span.left + span.width <= 100 + 1e-9
        assert span.dot == pytest.approx(100 * (interval.mean - 0.55) / 0.45)
    assert [verdict for _, _, verdict in gains] == ["better", "no significant difference"]
    assert gains[1][1] == "−1.0 points (−5.0 to +3.0)"


def test_the_confusion_matrix_shows_the_largest_classes_in_fractions_of_the_true_class():
    counts = np.diag(np.arange(1, 26)) + np.eye(25, k=1, dtype=int)
    probe = LabelProbe({}, {}, 0.5, [f"c{i}" for i in range(25)], counts.tolist(), 100, 10, 0)
    names, rows, more = confusion_rows(probe)
    assert names == [f"c{i}" for i in range(5, 25)]
    assert more == 5
    for name, cells in rows:
        assert len(cells) == 20
        index = int(name[1:])
        count, fraction = cells[names.index(name)]
        assert (count, fraction) == (index + 1, pytest.approx((index + 1) / counts[index].sum()))


def test_highlights_name_the_baselines_and_chance():
    h = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    labels = [str(value > 0) for value in h[:, 0]]
    edges = np.stack([np.arange(59), np.arange(1, 60)])
    words = " ".join(words for _, words in highlights(measure(h, edges, labels=labels)))
    assert "linear classifier" in words
    assert "chance 0.50" in words
    assert "of 4 columns" in words
    assert len(highlights(measure(h, None))) == 1
