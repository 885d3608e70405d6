from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from girl.files import cache_root, replacing, temporary_prefix, write_json


def test_a_written_file_is_complete_and_alone(tmp_path):
    path = tmp_path / "new" / "a.json"
    write_json(path, {"a": 1})
    assert json.loads(path.read_text()) == {"a": 1}
    assert [p.name for p in path.parent.iterdir()] == ["a.json"]


def test_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_nan_is_not_json(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "a.json", float("nan"))
    assert not list(tmp_path.iterdir())


def test_a_file_being_written_does_not_look_like_a_result(tmp_path):
    with replacing(tmp_path / "cora.json") as temporary:
        temporary.write_text("half")
        assert temporary.parent == tmp_path
        assert not list(tmp_path.rglob("*.json"))
    assert list(tmp_path.rglob("*.json")) == [tmp_path / "cora.json"]


def test_files_of_ended_processes_are_removed_and_others_are_left_alone(tmp_path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    mine = f"{temporary_prefix('a.json')}abc.part"
    (tmp_path / mine).touch()
    (tmp_path / mine.replace(str(os.getpid()), str(ended.pid))).touch()
    elsewhere = f".a.json.elsewhere-{ended.pid}-abc.part"
    (tmp_path / elsewhere).touch()
    write_json(tmp_path / "a.json", 1)
    assert {path.name for path in tmp_path.iterdir()} == {mine, elsewhere, "a.json"}


def test_a_result_has_the_usual_permissions(tmp_path):
    write_json(tmp_path / "a.json", 1)
    (tmp_path / "b.json").touch()
    assert (tmp_path / "a.json").stat().st_mode == (tmp_path / "b.json").stat().st_mode


def test_the_cache_is_the_folder_given_else_that_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("GIRL_DATA", str(tmp_path / "a"))
    assert cache_root(tmp_path / "b") == tmp_path / "b"
    assert cache_root() == tmp_path / "a"
    monkeypatch.delenv("GIRL_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache_root() == tmp_path / "girl"
