from __future__ import annotations

from pathlib import Path

import pytest

from girl.api import demo as api
from girl.cli import main
from girl.evaluation.probe import Score
from girl.evaluation.scores import Row


def test_the_demo_prints_its_scores_and_files(monkeypatch, capsys, tmp_path):
    row = Row(
        "GIRL",
        api.PROTOCOL,
        "linear",
        (Score("linear", "accuracy", 0.9, 0.8, 1.0, 0.1), Score("linear", "accuracy", 0.9, 0.9, 1.0, 0.1)),
    )
    demo = api.Demo([row], Path("e.npy"), Path("p.png"), Path("r.html"))
    monkeypatch.setattr(api, "run_demo", lambda out, console: demo)
    with pytest.raises(SystemExit) as stop:
        main(["demo", "--out", str(tmp_path)])
    assert not stop.value.code
    out = capsys.readouterr().out
    for word in ("GIRL", "85.00 ± 7.07", "e.npy", "p.png", "r.html"):
        assert word in out
