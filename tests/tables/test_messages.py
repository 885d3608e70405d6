from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from girl.tables.messages import first_line, listed, shown


@given(st.text() | st.integers() | st.lists(st.text()))
def test_shown_values_fit_in_one_short_line(value):
    text = shown(value)
    assert len(text) <= 60
    assert "\n" not in text
    assert len(repr(value)) > 60 or text == repr(value)


def test_listed_names_end_with_the_number_left_out():
    assert listed(["a", "b"]) == "a, b"
    assert listed([str(k) for k in range(1_005)], 3) == "0, 1, 2 and 1,002 more"


def test_the_first_line_of_an_error_is_its_message_or_type():
    assert first_line(ValueError("one.\ntwo")) == "one"
    assert first_line(EOFError()) == "EOFError"
