from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.helpers.pictures import drawn_fraction

GIRL = [sys.executable, "-m", "girl"]


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*GIRL, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rho", "x.npy", "none.csv"), ("x.npy", "no such file")),
        (("reproduce", "synthetic", "--draws", "0"), ("draws", "at least 1")),
        (("pretrain", "corra"), ("corra", "cora")),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(tmp_path, arguments, words):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    for word in words:
        assert word in done.stderr
    assert not list(tmp_path.iterdir())


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
        assert 0.02 < drawn_fraction(tmp_path / "out" / "synthetic" / f"{name}.png") < 0.9
        ElementTree.parse(tmp_path / "out" / "synthetic" / f"{name}.svg")  # raises unless it is well-formed
    assert "out/synthetic/independence.png" in done.stdout.replace("\n", "")
