from __future__ import annotations

import io

import pytest
from rich.console import Console

from girl import console
from girl.console import phase


@pytest.mark.parametrize("terminal", [True, False])
def test_a_long_phase_leaves_its_name_and_time(terminal, monkeypatch):
    monkeypatch.setattr(console, "SHORT", 0.0)
    file = io.StringIO()
    with phase(Console(file=file, force_terminal=terminal), "reading [x]"):
        pass
    assert "reading [x]: 0.0 s" in file.getvalue()


def test_a_short_phase_and_one_without_a_console_say_nothing():
    file = io.StringIO()
    with phase(Console(file=file), "reading"), phase(None, "writing"):
        pass
    assert file.getvalue() == ""


def test_a_phase_that_fails_says_nothing_of_its_time(monkeypatch):
    monkeypatch.setattr(console, "SHORT", 0.0)
    file = io.StringIO()
    with pytest.raises(KeyError), phase(Console(file=file), "reading"):
        raise KeyError
    assert file.getvalue() == ""
