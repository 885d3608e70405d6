from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from girl import datasets
from girl.cli import app
from girl.errors import InputError


def run(*arguments):
    app(["datasets", *map(str, arguments)], result_action="return_value")


def test_the_list_names_every_dataset_in_80_columns(tmp_path, monkeypatch):
    monkeypatch.delenv("GIRL_MIRROR", raising=False)
    written = StringIO()
    monkeypatch.setattr("girl.cli.datasets.console", Console(width=80, file=written))
    run("--data-root", tmp_path)
    text = written.getvalue()
    for name in datasets.names():
        assert any(line.startswith(f"{name} ") for line in text.splitlines())
    assert "…" not in text
    assert "download" in text
    assert "built in" in text


def test_fetch_prints_the_size_of_the_dataset(mirror, tmp_path, capsys):
    run("fetch", "Texas", "--data-root", tmp_path, "--mirror", mirror)
    run("fetch", "texas", "--again", "--data-root", tmp_path, "--mirror", mirror)
    assert capsys.readouterr().out.count("texas: 183 nodes, 325 edges, 1,703 features, 5 classes") == 2


def test_an_unknown_name_gets_a_close_match():
    with pytest.raises(InputError, match="did you mean cora"):
        run("fetch", "coraa")
