from __future__ import annotations

import subprocess
import sys

import pytest

from girl.cli import app


def run(*arguments):
    app(["datasets", *map(str, arguments)], result_action="return_value")


def test_a_stand_in_is_marked_wherever_it_appears(tmp_path, capsys):
    run("make-stand-in", "ogbn-arxiv", "--scale", 0.002, "--seed", 1, "--data-root", tmp_path)
    run("fetch", "ogbn-arxiv", "--data-root", tmp_path)
    run("--data-root", tmp_path)
    text = capsys.readouterr().out
    assert f"stand-in: {tmp_path / 'ogbn_arxiv'}" in text
    assert "ogbn-arxiv (stand-in): 339 nodes" in text
    assert "--again" in text
    (row,) = [line for line in text.splitlines() if line.startswith("ogbn-arxiv ") and "nodes" not in line]
    assert "stand-in" in row


@pytest.mark.slow
def test_help_imports_neither_the_laboratory_nor_torch():
    code = "import sys; from girl.cli import app; app(['datasets', '--help'], result_action='return_value');"
    code += "sys.exit('girl.lab.commands.stand_in' in sys.modules or 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "make-stand-in" in done.stdout
