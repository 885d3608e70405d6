from __future__ import annotations

from girl.lab.markdown import markdown


def test_a_table_has_a_rule_below_its_head_and_a_line_for_each_row():
    assert markdown(["", "a", "b"], [["x", "1", ""], ["y", "2", "3"]]).splitlines() == [
        "| | a | b |",
        "| --- | ---: | ---: |",
        "| x | 1 | |",
        "| y | 2 | 3 |",
    ]
