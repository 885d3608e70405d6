from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

from girl.cli import main
from girl.tables import read_embeddings

SMALL = ["--hidden", "8", "--epochs", "2", "--rank", "16", "--target-rank", "8"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A small graph as files: three groups of people."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 40, (2, 400))
    same = (a % 3 == b % 3) & (a != b)
    pl.DataFrame({"source": a[same], "target": b[same]}).write_csv(tmp_path / "edges.csv")
    group = [["a", "b", "c"][i % 3] for i in range(40)]
    pl.DataFrame({"id": range(40), "age": rng.normal(size=40), "group": group}).write_csv(tmp_path / "nodes.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def girl(*tokens):
    """A command that succeeds."""
    with pytest.raises(SystemExit) as stop:
        main(tokens)
    assert not stop.value.code


def complaint(capsys, *tokens):
    """What is said about a mistake."""
    with pytest.raises(SystemExit) as stop:
        main(tokens)
    assert stop.value.code == 2
    said = capsys.readouterr().err.strip()
    assert len(said.splitlines()) == 1
    return said


def test_embed_then_another_graph_with_the_model_then_the_report(folder, capsys):
    girl("embed", "edges.csv", "--nodes", "nodes.csv", "--label", "group", "--out", "e.parquet", *SMALL)
    said = capsys.readouterr().out
    assert "isolated nodes" in said
    assert "report: runs/edges/report.html" in said
    ids, vectors = read_embeddings(folder / "e.parquet")
    assert (ids.name, len(ids)) == ("id", 40)
    girl("embed", "edges.csv", "--nodes", "nodes.csv", "--model", "runs/edges", "--run", "again", "--half")
    assert np.allclose(read_embeddings(folder / "again" / "embeddings.parquet")[1], vectors, atol=1e-2)
    girl("report", "runs/edges", "--out", "page.html")
    assert (folder / "page.html").read_bytes() == (folder / "runs" / "edges" / "report.html").read_bytes()


def test_every_column_has_its_option(folder, capsys):
    columns = ["--source", "target", "--target", "source", "--id", "id", "--columns", "age", "--directed"]
    girl("embed", "edges.csv", "--nodes", "nodes.csv", *columns, "--no-report", *SMALL)
    config = json.loads((folder / "runs" / "edges" / "config.json").read_text())
    assert config["recipe"]["encoder"]["directed"] is True
    assert config["input"]["directed"] is True
    assert not (folder / "runs" / "edges" / "report.html").exists()


@pytest.fixture
def many(folder):
    """Many small graphs, as a folder of edge lists and as one table."""
    (folder / "many").mkdir()
    rows = []
    for index in range(12):
        n = 3 + index % 4
        ring = pl.DataFrame({"source": range(n), "target": [(i + 1) % n for i in range(n)]})
        ring.write_csv(folder / "many" / f"g{index:02}.csv")
        rows.append(ring.with_columns(graph=pl.lit(f"g{index:02}")))
    pl.concat(rows).write_csv(folder / "rows.csv")
    pl.DataFrame({"graph": [f"g{i:02}" for i in range(12)], "even": [i % 2 for i in range(12)]}).write_csv("graphs.csv")
    return folder


def test_embed_a_folder_then_others_with_the_model_then_the_report(many, capsys):
    (many / "many" / "readme.md").write_text("nothing")
    girl("embed", "many/", "--graphs", "graphs.csv", "--label", "even", "--out", "e.csv", *SMALL)
    said = " ".join(capsys.readouterr().out.split())
    for words in ("graphs │ 12", "3 to 6, 4.5 on average", "1 other file is left out of many", "e.csv (12 × 24)"):
        assert words in said
    ids, vectors = read_embeddings(many / "e.csv")
    assert (ids.name, ids.to_list()) == ("graph", [f"g{index:02}" for index in range(12)])
    girl("embed", "rows.csv", "--graph", "graph", "--model", "runs/many", "--run", "again", "--no-report")
    assert np.allclose(read_embeddings(many / "again" / "embeddings.parquet")[1], vectors, atol=1e-5)
    (many / "runs" / "many" / "report.html").unlink()
    girl("report", "runs/many", "--out", "page.html")
    assert "Each point is a graph" in (many / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (["rows.csv", "--graph", "grahp"], ["rows.csv", "grahp", "did you mean 'graph'", "--graph"]),
        (["rows.csv", "--graphs", "graphs.csv"], ["--graphs", "--graph"]),
        (
            ["rows.csv", "--graph", "graph", "--graphs", "graphs.csv", "--label", "odd"],
            ["graphs.csv", "odd", "--label"],
        ),
        (["many", "--structure", "positions"], ["positions", "roles"]),
        (["many", "--nodes", "nodes.csv"], ["nodes.csv", "--graph"]),
        (["many", "--label", "even"], ["--label", "--graphs"]),
        (["runs"], ["runs", "no such file"]),
    ],
)
def test_a_mistake_about_many_graphs_is_one_line_and_nothing_is_written(many, capsys, tokens, words):
    before = sorted(many.rglob("*"))
    said = complaint(capsys, "embed", *tokens)
    for word in words:
        assert word in said
    assert sorted(many.rglob("*")) == before


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (["embed", "none.csv"], ["none.csv"]),
        (["embed", "edges.csv", "--nodes", "nodes.csv", "--label", "gruop"], ["nodes.csv", "gruop", "group"]),
        (["embed", "edges.csv", "--source", "from"], ["edges.csv", "from"]),
        (["embed", "edges.csv", "--out", "e.xlsx"], ["e.xlsx", ".parquet"]),
        (["embed", "edges.csv", "--model", "nowhere"], ["nowhere"]),
        (["embed", "edges.csv", "--structure", "none", "--hidden", "8"], ["structure"]),
        (["embed", "edges.csv", "--bands", "own", "mdi"], ["bands", "mdi", "mid"]),
        (["embed", "edges.csv", "--recipe", "paper", "--dim", "8"], ["dim", "recipe default"]),
        (["report", "nowhere"], ["nowhere"]),
        (["report", "edges.csv"], ["edges.csv"]),
        (["evaluate", "edges.csv"], ["edges.csv"]),
        (["rho", "[/x].npy", "edges.csv"], ["[/x].npy: no such file"]),
        (["pretrain", "digits", "--out", "edges.csv"], ["edges.csv"]),
        (["reproduce", "nodes", "--jobs", "0"], ["--jobs"]),
        (["reproduce", "nodes", "--datasets", "Coar"], ["cora"]),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(folder, capsys, tokens, words):
    before = sorted(folder.rglob("*"))
    said = complaint(capsys, *tokens)
    for word in words:
        assert word in said
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": 2}', "not json", '{"format": 2, "recipe": 3, "inputs": 1}'])
def test_a_run_with_a_foreign_config_is_named(folder, capsys, text):
    girl("embed", "edges.csv", "--nodes", "nodes.csv", "--no-report", *SMALL)
    (folder / "runs" / "edges" / "config.json").write_text(text)
    assert "runs/edges" in complaint(capsys, "evaluate", "runs/edges")


def test_a_run_of_a_users_graph_has_no_protocol(folder, capsys):
    girl("embed", "edges.csv", "--nodes", "nodes.csv", "--no-report", *SMALL)
    assert "not a named dataset" in complaint(capsys, "evaluate", "runs/edges")


def test_control_c_is_said_and_the_same_command_goes_on(folder):
    command = [sys.executable, "-m", "girl", "embed", "edges.csv", "--nodes", "nodes.csv", "--no-report", *SMALL]
    command += ["--save-every", "1"]
    command[command.index("--epochs") + 1] = "100000"
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    checkpoints = folder / "runs" / "edges" / "checkpoints"
    while child.poll() is None and not (checkpoints.exists() and any(checkpoints.iterdir())):
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "run the same command again" in said
    assert not (folder / "runs" / "edges" / "model.safetensors").exists()


def test_help_is_the_docstring(capsys):
    girl("pretrain", "--help")
    assert "girl evaluate runs/cora" in " ".join(capsys.readouterr().out.split())
