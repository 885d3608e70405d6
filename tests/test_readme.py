"""The README's snippets run as they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
START = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")


def snippets(language: str, text: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


@pytest.mark.parametrize("code", [*snippets("python", README), *snippets("python", START)])
def test_python(code, snippet):
    snippet("python", code)


@pytest.mark.parametrize("block", snippets("sh", README))
def test_shell(block, snippet, tmp_path):
    """Lines run in order in one folder; `make` lines run in the project itself.

    `make test` is what runs this, tests/experiments/test_demo.py does what `make demo` does, and `make bench` takes
    minutes and a quiet machine: of these only that the recipe stands is asked. Cloning needs a network.
    """
    for line in block.strip().splitlines():
        command = line.split("#")[0].strip()
        if not command or command.startswith(("git clone", "cd ", ". .venv")):
            continue
        if command in ("make demo", "make test", "make bench"):
            command = command.replace("make", "make -n")
        snippet("sh", f"cd {shlex.quote(str(ROOT))} && {command}" if command.startswith("make") else line)


def test_the_picture_is_there():
    for path in re.findall(r"!\[[^]]*\]\(([^)]+)\)", README):
        assert (ROOT / path).stat().st_size > 1000


def test_the_two_commands_are_named():
    assert "make demo" in README
    assert "make test" in README
