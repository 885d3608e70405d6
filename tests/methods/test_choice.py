from __future__ import annotations

from dataclasses import asdict

import pytest

from girl.methods.choice import Choice

SHARES = {"columns": 0.12, "neighbors": 0.3, "positions": 0.05}


@pytest.mark.parametrize(
    ("scales", "words"),
    [
        ({"own": 0.2, "mid": 1.0}, "neighbours resemble each other"),
        ({"own": 1.0, "mid": 0.2}, "its own features count most"),
        ({"own": 0.1, "positions": 1.0}, "place in the graph"),
        ({"positions": 0.4, "roles": 1.0}, "it has no features"),
    ],
)
def test_the_headline_says_what_kind_of_graph_it_is(scales, words):
    assert words in Choice(scales, SHARES, judged=True, groups=100).headline


def test_the_choice_in_three_lines():
    choice = Choice({"own": 0.25, "mid": 1.0, "far": 0.0}, SHARES, judged=True, groups=100)
    first, second, third = choice.lines()
    assert first.startswith("your graph: ")
    assert "12 % of hidden feature columns, 30 % of features of hidden neighbours and 5 %" in second
    assert third == "bands: mid 1.00, own 0.25; left out: far"
    assert [row[0] for row in choice.rows()] == ["mid", "own", "far"]
    assert Choice.from_dict(asdict(choice)) == choice


def test_the_learned_band_counts_where_it_belongs():
    for near, own, words in ((0.6, 0.4, "neighbours resemble each other"), (0.3, 0.7, "its own features count most")):
        choice = Choice({"own": own, "near": near, "learned": 1.0, "positions": 0.8}, SHARES, judged=True, groups=100)
        assert words in choice.headline


def test_a_learned_band_that_is_left_out_is_explained():
    choice = Choice({"own": 0.25, "mid": 1.0, "learned": 0.0}, SHARES, judged=True, groups=100)
    assert choice.lines()[2].endswith("left out: learned (no better than mid)")


def test_what_could_not_be_judged_is_said():
    assert "nothing explains" in Choice({"own": 1.0}, {"columns": 0.0}, judged=False, groups=20).headline
    assert "were given" in Choice({"own": 1.0}, {}, judged=True, groups=0).headline
    assert "nothing to judge" in Choice({"own": 1.0}, {}, judged=False, groups=0).headline
    lines = Choice({"own": 1.0}, {"neighbors": 0.1}, judged=True, groups=3).lines()
    assert any("3 columns are too few to hide some" in line for line in lines)
