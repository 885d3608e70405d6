from __future__ import annotations

from pathlib import Path

from girl.lab.markdown import figure_block, markdown_list, markdown_table


def test_a_table_has_a_rule_below_its_head_and_a_line_for_each_row():
    assert markdown_table(["", "a", "b"], [["x", "1", ""], ["y", "2", "3"]]).splitlines() == [
        "| | a | b |",
        "| --- | ---: | ---: |",
        "| x | 1 | |",
        "| y | 2 | 3 |",
    ]


def test_a_list_has_a_line_for_each_item():
    assert markdown_list(["a", "b"]) == "- a\n- b\n"


def test_a_figure_that_was_not_drawn_is_replaced_by_its_command():
    assert "generated/gains.svg" in figure_block(Path("out/gains.png"), "alt", "caption", "girl reproduce nodes")
    assert figure_block(None, "alt", "caption", "girl reproduce nodes").startswith("*Not computed yet: `girl reproduce")
