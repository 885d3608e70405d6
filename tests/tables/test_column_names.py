from __future__ import annotations

import pytest

from girl.tables.column_names import END_PAIRS, ENDS, IDS, TIMES, default_names, is_id_name, simple_name


@pytest.mark.parametrize("name", ["Node_1", "node 1", "NODE-1", "node1"])
def test_simple_names_ignore_case_and_signs(name):
    assert simple_name(name) == "node1"


def test_usual_names_are_in_simple_form():
    for name in (*ENDS, *IDS, *TIMES):
        assert simple_name(name) == name
    assert all(len(pair) == 2 and pair[0] != pair[1] for pair in END_PAIRS)
    assert END_PAIRS[0] == ("source", "target")


def test_names_that_usually_hold_ids_are_recognized():
    assert all(map(is_id_name, ("id", "Index", "user_id", "atom id", "Unnamed: 0")))
    assert not any(map(is_id_name, ("age", "paid", "idea")))


def test_default_names_count_from_1():
    assert default_names(2) == ["column_1", "column_2"]
