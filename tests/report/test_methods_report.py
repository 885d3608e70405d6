from __future__ import annotations

import pytest

from girl.report.docs import arenas
from girl.report.methods import (
    critical_difference,
    draw_time,
    facts,
    ranks,
    table_cost,
    table_methods,
    table_ranks,
)
from girl.report.scores import Scores

NODES, GRAPHS = arenas()


def cells(**means):
    """Results of two datasets; ``means`` gives each method its accuracies there."""
    found = []
    for method, values in means.items():
        for dataset, protocol, value in zip(("cora", "texas"), ("public", "geom-gcn"), values, strict=True):
            for seed in range(3):
                row = {"protocol": protocol, "probe": "linear", "test": value + 0.001 * seed, "val": value}
                cell = {"dataset": dataset, "method": method, "seed": seed, "rows": [row], "train_gb": 0.5}
                looks = [{"epoch": e, "seconds": 0.2 * e, "val": value - 0.1 / e} for e in (1, 4, 10)]
                found.append(cell | {"epochs": 10, "train_seconds": 2.0, "looks": looks, "best_seconds": 0.8})
    return found


@pytest.fixture
def scores():
    peers = dict.fromkeys(NODES.methods, (0.7, 0.5))
    return Scores(cells(raw=(0.6, 0.5), untrained=(0.7, 0.6), **(peers | {"girl": (0.8, 0.7), "dgi": (0.82, 0.6)})))


def test_the_best_of_a_row_is_bold(scores):
    lines = table_methods(scores, NODES).splitlines()
    assert lines[0].startswith("| dataset, protocol | seeds | raw | untrained | girl | dgi |")
    assert " 80.10 ± 0.10 | **82.10 ± 0.10** |" in lines[2]
    assert len({line.count("|") for line in lines}) == 1


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


def test_facts_name_where_it_is_first_and_where_behind(scores):
    text = facts(scores, NODES)
    assert "first on 1 of 2 rows: Texas `geom-gcn`" in text
    assert "Behind: Cora `public` (dgi, +2.00" in text
    near = Scores(cells(girl=(0.8, 0.7), dgi=(0.8, 0.7)))
    assert "first on 2 of 2" in facts(near, NODES)


def test_cost_and_figure(scores, tmp_path):
    assert "| Cora | girl | its own | 10 | 0.200 | 2.0 | 0.8 | 0.50 |" in table_cost(scores, NODES)
    path = draw_time(scores, NODES, tmp_path)
    assert path is not None
    assert path.stat().st_size > 10_000


def test_nothing_is_said_of_nothing(tmp_path):
    none = Scores([])
    for make in (table_methods, table_ranks, facts, table_cost):
        assert "Not computed yet" in make(none, GRAPHS)
    assert draw_time(none, GRAPHS, tmp_path) is None
