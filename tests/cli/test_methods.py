from __future__ import annotations

import pytest

import girl
from girl.cli import main


def test_every_method_is_listed_with_its_settings(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    with pytest.raises(SystemExit) as stop:
        main(["methods"])
    assert not stop.value.code
    out = capsys.readouterr().out
    for name in girl.methods.names():
        assert name in out
    assert "temperature" in out  # a setting of GRACE
