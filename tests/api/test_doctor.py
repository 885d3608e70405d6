"""What `girl doctor` finds, in health and in sickness."""

from __future__ import annotations

import json
from importlib import metadata
from types import SimpleNamespace

import pytest
import torch

from girl.api import doctor
from girl.cli import main


def found(*names):
    return {finding.name: finding for name in names for finding in doctor._CHECKS[name](name)}


def test_this_installation_is_well(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("GIRL_DATA", str(tmp_path / "not yet there"))
    with pytest.raises(SystemExit) as stop:
        main(["doctor", "--json"])
    assert not stop.value.code
    findings = json.loads(capsys.readouterr().out)
    assert {one["name"] for one in findings} >= set(doctor._CHECKS)
    assert not [one for one in findings if one["state"] == "error"]
    assert not (tmp_path / "not yet there").exists()


def test_a_package_that_is_missing_or_old_is_named(monkeypatch):
    plain = metadata.version

    def version(name):
        if name == "pymetis":
            raise metadata.PackageNotFoundError(name)
        return "1.0" if name == "polars" else plain(name)

    monkeypatch.setattr(metadata, "version", version)
    fault = found("packages")["packages"]
    assert fault.state == "error"
    assert "pymetis is missing" in fault.text
    assert "polars 1.0, expected >=1.20" in fault.text
    assert "pip install" in fault.remedy


@pytest.mark.parametrize(
    ("name", "where", "spoiled"),
    [
        ("loss", "torch.autograd.grad", lambda out, x: (torch.zeros_like(x),)),
        ("METIS", "girl.graph.partition.partition", lambda graph, parts: torch.arange(400) % 4),
        ("message passing", "girl.kernel.sparse.SparseMatrix.__matmul__", lambda self, z: z),
    ],
)
def test_a_part_that_gives_something_else_is_a_fault(monkeypatch, name, where, spoiled):
    monkeypatch.setattr(where, spoiled)
    finding = found(name)[name]
    assert finding.state == "error"
    assert finding.remedy


def test_a_cache_without_space_or_permission(monkeypatch, tmp_path):
    monkeypatch.setenv("GIRL_DATA", str(tmp_path))
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=1e6))
    note = found("cache")["cache"]
    assert (note.state, "GIRL_DATA" in note.remedy) == ("note", True)
    monkeypatch.setattr("os.access", lambda path, mode: False)
    fault = found("cache")["cache"]
    assert (fault.state, "GIRL_DATA" in fault.remedy) == ("error", True)
    assert not list(tmp_path.iterdir())


def test_damaged_graphs_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("GIRL_DATA", str(tmp_path))
    monkeypatch.delenv("GIRL_MIRROR", raising=False)
    (tmp_path / "graphs").mkdir()
    (tmp_path / "graphs" / "cora.safetensors").write_bytes(b"something else")
    note = found("datasets")["datasets"]
    assert note.state == "note"
    assert "cora" in note.text


def test_a_check_that_breaks_is_a_fault_and_the_others_go_on(monkeypatch, capsys):
    def broken(name):
        raise OSError("the library is not there")
        yield

    checks = {"first": broken, "machine": doctor._machine}
    monkeypatch.setattr(doctor, "_CHECKS", checks)
    with pytest.raises(SystemExit) as stop:
        main(["doctor"])
    assert stop.value.code == 1
    said = capsys.readouterr().out
    assert "OSError: the library is not there" in said
    assert "machine" in said
    assert "errors: first" in said
