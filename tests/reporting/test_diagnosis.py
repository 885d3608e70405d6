from __future__ import annotations

import math
from contextlib import contextmanager

import pytest

from girl.evaluation.diagnosis import Diagnosis
from girl.reporting import diagnosis
from girl.reporting.diagnosis import draw_diagnosis
from girl.reporting.figure import panels


@pytest.fixture
def drawn(monkeypatch):
    """The axes of the figures that were drawn."""
    recorded = []

    @contextmanager
    def recording(*arguments):
        with panels(*arguments) as axes:
            recorded.extend(axes)
            yield axes

    monkeypatch.setattr(diagnosis, "panels", recording)
    return recorded


def test_each_run_has_a_panel_with_its_epochs_and_its_final_line(drawn, tmp_path):
    trace = [{"epoch": e, "layer 1": 0.9 - 0.1 * e, "layer 2": 0.8} for e in range(3)]
    runs = [Diagnosis("first", [0.9, 0.5, 0.3], trace), Diagnosis("second", [math.nan, 0.6], [])]
    path = draw_diagnosis(runs, tmp_path / "figure", last="the end")
    assert path == tmp_path / "figure.png"
    first, second = drawn
    assert [line.get_label() for line in first.lines[:4]][::3] == ["epoch 0", "the end"]
    assert first.lines[3].get_ydata().tolist() == [0.9, 0.5, 0.3]
    assert first.lines[0].get_xdata().tolist() == [1, 2]
    assert [panel.get_xlabel() for panel in (first, second)] == ["layer (0: the features)", "layer"]
    assert len(second.lines) == 2
