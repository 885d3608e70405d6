from __future__ import annotations

from girl.lab.render import arenas
from girl.lab.scores import Scores
from girl.lab.tables.methods import (
    draw_time,
    facts,
    table_cost,
    table_methods,
)

NODES, GRAPHS = arenas()


def test_the_best_of_a_row_is_bold(scores):
    lines = table_methods(scores, NODES).splitlines()
    assert lines[0].startswith("| dataset, protocol | seeds | raw | untrained | girl | dgi |")
    assert " 80.10 ± 0.10 | **82.10 ± 0.10** |" in lines[2]
    assert len({line.count("|") for line in lines}) == 1


def test_facts_name_where_it_is_first_and_where_behind(scores, cells_of):
    text = facts(scores, NODES)
    assert "first on 1 of 2 rows: Texas `geom-gcn`" in text
    assert "Behind: Cora `public` (dgi, +2.00" in text
    assert "from dataset to dataset: GIRL 2 to 2, the others 2 to 2." in text
    near = Scores(cells_of(girl=(0.8, 0.7), dgi=(0.8, 0.7)))
    assert "first on 2 of 2" in facts(near, NODES)


def test_cost_and_figure(scores, tmp_path):
    assert "| Cora | girl | its own | 10 | 0.200 | 2.0 | 0.8 | 0.50 |" in table_cost(scores, NODES)
    path = draw_time(scores, NODES, tmp_path)
    assert path is not None
    assert path.stat().st_size > 10_000


def test_nothing_is_said_of_nothing(tmp_path):
    none = Scores([])
    for make in (table_methods, facts, table_cost):
        assert "Not computed yet" in make(none, GRAPHS)
    assert draw_time(none, GRAPHS, tmp_path) is None
