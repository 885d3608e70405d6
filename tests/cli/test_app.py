from __future__ import annotations

from girl.cli.app import say


def test_a_line_is_printed_as_it_is(capsys):
    path = "runs/" + "long" * 100 + "[red]x[/red]"
    say(path)
    assert capsys.readouterr().out == f"{path}\n"
