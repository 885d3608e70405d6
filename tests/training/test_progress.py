from __future__ import annotations

import sys

from rich.console import Console

from girl.training.context import Context
from girl.training.loop import fit
from girl.training.state import TrainSettings
from tests.helpers.training import small_graph, small_method


def test_progress_is_plain_lines_without_a_terminal(capsys):
    fit(
        small_method(),
        small_graph(),
        TrainSettings(epochs=3),
        Context(console=Console(file=sys.stdout, force_terminal=False, width=200)),
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("epoch 1/3")
    assert lines[-1].startswith("epoch 3/3")
    assert all(word in lines[0] for word in ("ρ̂ layer 2", "nodes/s", "s left"))


def test_progress_is_a_bar_on_a_terminal(capsys):
    fit(
        small_method(),
        small_graph(),
        TrainSettings(epochs=3),
        Context(console=Console(file=sys.stdout, force_terminal=True, width=200)),
    )
    assert "3/3" in capsys.readouterr().out
