from __future__ import annotations

import json

import pytest

from girl.api import doctor
from girl.api.doctor import Finding
from girl.cli import main


@pytest.mark.parametrize(("state", "code"), [("ok", 0), ("note", 0), ("error", 1)])
@pytest.mark.parametrize("as_json", [True, False])
def test_the_exit_code_is_1_if_a_check_is_an_error(monkeypatch, capsys, state, code, as_json):
    monkeypatch.setattr(doctor, "examine", lambda: iter([Finding("disk", state, "full", "buy a larger one")]))
    with pytest.raises(SystemExit) as stop:
        main(["doctor", *(["--json"] if as_json else [])])
    assert (stop.value.code or 0) == code
    out = capsys.readouterr().out
    assert "buy a larger one" in out
    if as_json and not code:
        assert json.loads(out)[0]["state"] == state
