from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

GIRL = [sys.executable, "-m", "girl"]


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*GIRL, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture
def files(tmp_path):
    x = np.random.default_rng(0).normal(size=(300, 2))
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "y.csv").write_text("a,b\n" + "\n".join(f"{v**2},{w}" for v, w in x) + "\n")
    return tmp_path


def test_rho_prints_an_estimate_with_a_spread(files):
    done = run("rho", "x.npy", "y.csv", cwd=files)
    assert done.returncode == 0, done.stderr
    assert "±" in done.stdout
    assert "spread of Y" in done.stdout


def test_rho_as_json_with_chosen_columns(files):
    done = run("rho", "y.csv", "y.csv", "--x-columns", "a", "--y-columns", "b", "--json", cwd=files)
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert value["rows"] == 300
    assert value["rho"] == pytest.approx(value["spread"], rel=0.1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rho", "x.npy", "none.csv"), ("none.csv", "no such file")),
        (("rho", "x.npy", "short.csv"), ("short.csv", "2 rows", "expected 300")),
        (("rho", "x.npy", "y.csv", "--y-columns", "c"), ("'c'", "a, b")),
        (("reproduce", "synthetic", "--draws", "0"), ("--draws", "at least 1")),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(files, arguments, words):
    (files / "short.csv").write_text("a\n1\n2\n")
    done = run(*arguments, cwd=files)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    for word in words:
        assert word in done.stderr
    assert not (files / "results").exists()


def test_help_names_every_command(tmp_path):
    done = run("--help", cwd=tmp_path)
    for command in ("demo", "rho", "reproduce"):
        assert command in done.stdout
        assert run(command, "--help", cwd=tmp_path).returncode == 0


def test_reproduce_synthetic_writes_numbers_and_pictures(tmp_path):
    done = run("reproduce", "synthetic", "--draws", "2", "--samples", "50", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out" / "synthetic.json").read_text())["settings"]["draws"] == 2
    for name in ("dimension_100", "mutual_information", "independence"):
        for suffix in (".svg", ".png"):
            assert (tmp_path / "out" / "synthetic" / (name + suffix)).stat().st_size > 1000
    assert "out/synthetic/independence.png" in done.stdout.replace("\n", "")
