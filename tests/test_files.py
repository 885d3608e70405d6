from __future__ import annotations

import json

import pytest

from girl.files import replacing, write_json


def test_writes_whole(tmp_path):
    path = tmp_path / "new" / "a.json"
    write_json(path, {"a": 1})
    assert json.loads(path.read_text()) == {"a": 1}
    assert [p.name for p in path.parent.iterdir()] == ["a.json"]


def test_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as beside:
        beside.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_nan_is_refused(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "a.json", float("nan"))
    assert not list(tmp_path.iterdir())


def test_what_a_kill_would_leave_is_no_result(tmp_path):
    with replacing(tmp_path / "cora.json") as beside:
        beside.write_text("half")
        assert beside.parent == tmp_path
        assert not list(tmp_path.rglob("*.json"))
    assert list(tmp_path.rglob("*.json")) == [tmp_path / "cora.json"]
