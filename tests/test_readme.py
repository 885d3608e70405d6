"""The README's snippets run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
START = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")


def snippets(language: str, text: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


@pytest.mark.parametrize("code", [*snippets("python", README), *snippets("python", START)])
def test_python(code, tmp_path):
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", snippets("sh", README))
def test_shell(block, tmp_path):
    """Lines run in order in one folder, on the installed command; `make` lines run in the project itself.

    `make test` is what runs this, and `make bench` takes minutes and a quiet machine: of these two only that the
    recipe stands is asked. Cloning needs a network.
    """
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for line in block.strip().splitlines():
        command = line.split("#")[0].strip()
        if not command or command.startswith(("git clone", "cd ")):
            continue
        where = ROOT if command.startswith("make") else tmp_path
        if command in ("make test", "make bench"):
            command = command.replace("make", "make -n")
        done = subprocess.run(
            command, shell=True, cwd=where, env=environment, capture_output=True, text=True, timeout=400, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def test_the_picture_is_there():
    for path in re.findall(r"!\[[^]]*\]\(([^)]+)\)", README):
        assert (ROOT / path).stat().st_size > 1000


def test_the_two_commands_are_named():
    assert "make demo" in README
    assert "make test" in README
