from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from girl.lab.render import arenas
from girl.lab.scores import Scores
from girl.lab.tables.ranking import alike, critical_difference, draw_ranks, ranks, table_ranks

NODES, GRAPHS = arenas()


def test_ranks_are_those_of_the_means(scores):
    found, count = ranks(scores, NODES)
    assert count == 2
    assert found["girl"] == 1.5
    assert found["dgi"] == 1.5
    others = [rank for name, rank in found.items() if name not in ("girl", "dgi")]
    assert set(others) == {(3 + len(NODES.methods)) / 2}
    assert sum(found.values()) == pytest.approx(sum(range(1, len(NODES.methods) + 1)))
    assert "mean rank" in table_ranks(scores, NODES)


def test_the_critical_difference_is_the_textbooks():
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.01)  # Demšar (2006), his example
    assert critical_difference(10, 10) == pytest.approx(3.164 * (10 * 11 / 60) ** 0.5, abs=0.01)


def test_bars_cover_what_is_not_told_apart():
    found = {"a": 1.0, "b": 1.8, "c": 2.6, "d": 5.0}
    assert alike(found, 1.0) == [(1.0, 1.8), (1.8, 2.6)]
    assert alike(found, 2.0) == [(1.0, 2.6)]
    assert alike(found, 0.5) == []


@given(st.lists(st.floats(1, 10), min_size=2, max_size=9), st.floats(0.1, 5))
def test_two_methods_share_a_bar_if_and_only_if_they_are_not_told_apart(values, least):
    found = {str(index): value for index, value in enumerate(values)}
    bars = alike(found, least)
    for low in values:
        for high in values:
            if low < high:
                assert any(first <= low and high <= last for first, last in bars) == (high - low < least)


def test_the_diagram(scores, tmp_path):
    path = draw_ranks(scores, NODES, tmp_path)
    assert path is not None
    text = path.with_suffix(".svg").read_text(encoding="utf-8")
    assert all(f"{name}" in text for name in NODES.methods)
    assert "critical difference" in text


def test_nothing_is_said_of_nothing(tmp_path):
    assert "Not computed yet" in table_ranks(Scores([]), GRAPHS)
    assert draw_ranks(Scores([]), GRAPHS, tmp_path) is None
