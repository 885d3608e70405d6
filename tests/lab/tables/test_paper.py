from __future__ import annotations

import pytest

from girl.lab.published import table
from girl.lab.scores import Scores
from girl.lab.tables.paper import AVAILABLE, TABLES, coverage, printed_numbers, table_paper


def cells(dataset, method, protocols, value, probe="linear"):
    rows = [{"protocol": protocol, "probe": probe, "test": value, "val": value} for protocol in protocols]
    return [{"dataset": dataset, "method": method, "seed": seed, "rows": rows} for seed in range(2)]


@pytest.fixture
def nodes():
    return Scores(cells("cora", "dgi", ["public", "full"], 0.5) + cells("photo", "girl", ["random-10-10-80"], 0.25))


@pytest.fixture
def graphs():
    return Scores(cells("mutag", "girl", ["10-fold"], 0.75, "svm"), "svm")


def test_every_number_of_the_paper_is_in_one_of_its_tables(nodes, graphs):
    text = {setting: table_paper(graphs if setting == "graph" else nodes, setting) for setting in TABLES}
    for row in table("self_supervised"):
        (line,) = [line for line in text[row["setting"]].splitlines() if line.startswith(f"| {row['dataset']} |")]
        assert f" {row['accuracy']} " in line.replace("/", " ")
    for one in text.values():
        assert len({line.count("|") for line in one.splitlines()}) == 1


def test_ours_are_beside_it_with_both_protocols(nodes, graphs):
    line = table_paper(nodes, "transductive").splitlines()[2]
    assert line.startswith("| Cora | public · full | 82.3 (public) / 50.0 · 50.0 |")
    assert "95.6 / 25.0 · – |" in table_paper(nodes, "transductive")
    assert "89.5 (10-fold) / 75.0 |" in table_paper(graphs, "graph")


def test_datasets_that_are_not_available_are_named(nodes):
    lines = table_paper(nodes, "inductive").splitlines()[2:]
    assert all("not available" in line for line in lines)


def test_what_is_not_computed_is_named_and_counted(nodes, graphs):
    count = sum(dataset in AVAILABLE for dataset, _ in printed_numbers())
    text = coverage(nodes, graphs)
    assert f"Of the {count} numbers" in text
    assert " 2 have one of ours, the mean over 2 seeds; not yet: " in text
    assert "DGI on Cora" not in text
    assert "GIRL on Amazon-Photos" in text  # one of its protocols is missing


def test_protocols_are_known_of_numbers_that_are_printed():
    assert {(row["dataset"], row["method"]) for row in table("protocols")} <= set(printed_numbers())
