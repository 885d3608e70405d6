from __future__ import annotations

import pytest

from girl.lab.published import table
from girl.lab.scores import Scores
from girl.lab.tables.paper import TABLES, facts, places, printed, table_paper


def cells(dataset, method, protocols, value, probe="linear"):
    rows = [{"protocol": protocol, "probe": probe, "test": value, "val": value} for protocol in protocols]
    return [{"dataset": dataset, "method": method, "seed": seed, "rows": rows} for seed in range(2)]


@pytest.fixture
def scores():
    nodes = cells("cora", "dgi", ["public", "full"], 0.5) + cells("photo", "girl", ["random-10-10-80"], 0.25)
    return {"nodes": Scores(nodes), "graphs": Scores(cells("mutag", "girl", ["10-fold"], 0.75, "svm"), "svm")}


def test_every_number_of_the_paper_stands_in_one_of_its_tables(scores):
    text = {setting: table_paper(scores, setting) for setting in TABLES}
    for row in table("self_supervised"):
        (line,) = [line for line in text[row["setting"]].splitlines() if line.startswith(f"| {row['dataset']} |")]
        assert f" {row['accuracy']} " in line.replace("/", " ")
    for one in text.values():
        assert len({line.count("|") for line in one.splitlines()}) == 1


def test_ours_stand_beside_with_both_protocols(scores):
    line = table_paper(scores, "transductive").splitlines()[2]
    assert line.startswith("| Cora | public · full | 82.3 (public) / 50.0 · 50.0 |")
    assert "95.6 / 25.0 · – |" in table_paper(scores, "transductive")
    assert "89.5 (10-fold) / 75.0 |" in table_paper(scores, "graph")


def test_what_is_not_at_hand_is_named(scores):
    lines = table_paper(scores, "inductive").splitlines()[2:]
    assert all("not at hand" in line for line in lines)


def test_what_is_not_computed_is_named_and_counted(scores):
    known = sum(dataset in places() for dataset, _ in printed())
    text = facts(scores)
    assert f"Of the {known} numbers" in text
    assert " 2 have one of ours, the mean over 2 seeds; not yet: " in text
    assert "DGI on Cora" not in text
    assert "GIRL on Amazon-Photos" in text  # one of its protocols is missing


def test_protocols_are_known_of_numbers_that_are_printed():
    assert {(row["dataset"], row["method"]) for row in table("protocols")} <= set(printed())
