from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from girl.lab.tables.ranking import critical_difference, draw_ranks, indistinguishable, mean_ranks, table_ranks


def test_ranks_are_those_of_the_means(scores):
    ranks, count = mean_ranks(scores)
    assert count == 2
    assert ranks["girl"] == 1.5
    assert ranks["dgi"] == 1.5
    others = [rank for name, rank in ranks.items() if name not in ("girl", "dgi")]
    assert set(others) == {(3 + len(scores.methods)) / 2}
    assert sum(ranks.values()) == pytest.approx(sum(range(1, len(scores.methods) + 1)))
    assert "mean rank" in table_ranks(scores)


def test_the_critical_difference_is_that_of_the_textbook():
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.01)  # Demšar (2006), his example
    assert critical_difference(10, 10) == pytest.approx(3.164 * (10 * 11 / 60) ** 0.5, abs=0.01)


def test_bars_are_the_longest_ranges_without_a_significant_difference():
    ranks = {"a": 1.0, "b": 1.8, "c": 2.6, "d": 5.0}
    assert indistinguishable(ranks, 1.0) == [(1.0, 1.8), (1.8, 2.6)]
    assert indistinguishable(ranks, 2.0) == [(1.0, 2.6)]
    assert indistinguishable(ranks, 0.5) == []


@given(st.lists(st.floats(1, 10), min_size=2, max_size=9), st.floats(0.1, 5))
def test_two_methods_share_a_bar_if_and_only_if_they_do_not_differ(values, critical):
    bars = indistinguishable({str(index): value for index, value in enumerate(values)}, critical)
    for low in values:
        for high in values:
            if low < high:
                assert any(first <= low and high <= last for first, last in bars) == (high - low < critical)


def test_the_diagram_names_every_method(scores, tmp_path):
    text = draw_ranks(scores, tmp_path).with_suffix(".svg").read_text(encoding="utf-8")
    assert all(name in text for name in scores.methods)
    assert "critical difference" in text


def test_one_row_is_not_ranked(method_scores, tmp_path):
    assert "Not computed yet" in table_ranks(method_scores())
    assert draw_ranks(method_scores(), tmp_path) is None
