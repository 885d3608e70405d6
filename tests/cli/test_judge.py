from __future__ import annotations

import polars as pl
import pytest

from girl.cli import main


def girl(*tokens):
    """Run a command; its exit code."""
    with pytest.raises(SystemExit) as done:
        main([*tokens])
    return done.value.code or 0


def test_representations_of_files_and_of_a_dataset_are_compared(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    n = 90
    pl.DataFrame({"a": range(n), "b": [(i + 3) % n for i in range(n)]}).write_csv("edges.csv")
    columns = {f"x{k}": [float((i * (k + 3)) % 7 + i % 3) for i in range(n)] for k in range(10)}
    pl.DataFrame({"id": range(n), "group": ["abc"[i % 3] for i in range(n)], **columns}).write_csv("nodes.csv")
    quick = ["--rows", "60", "--repeats", "1", "--representations", "raw", "ppr"]
    assert girl("judge", "edges.csv", "--nodes", "nodes.csv", "--label", "group", *quick) == 0
    printed = capsys.readouterr().out
    assert "best" in printed
    assert "ppr" in printed
    assert girl("judge", "digits", *quick) == 0


def test_a_mistake_is_one_line(capsys):
    assert girl("judge", "digist") == 2
    assert "digits" in capsys.readouterr().err
