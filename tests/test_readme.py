"""The commands and code of the README and of the first page run as they are written."""

from __future__ import annotations

import re
import shlex
import struct

import pytest

from tests.helpers.pages import DOCS, ROOT, blocks

README = (ROOT / "README.md").read_text(encoding="utf-8")
START = (DOCS / "start.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("code", [code for page in (README, START) for _, code in blocks(page, "python")])
def test_python_runs(code, snippet):
    snippet("python", code)


@pytest.mark.slow
@pytest.mark.parametrize("block", [code for _, code in blocks(README, "sh")])
def test_commands_run(block, snippet):
    """Lines run in order in one folder.

    Of `make`, only that the target exists is checked: `make test` runs this test, and tests/api/test_demo.py does what
    `make demo` does. Cloning needs a network.
    """
    for line in block.strip().splitlines():
        command = line.split("#")[0].strip()
        if not command or command.startswith(("git clone", "cd ", ". .venv")):
            continue
        if command.startswith("make "):
            line = f"cd {shlex.quote(str(ROOT))} && make -n {command.removeprefix('make ')}"
        snippet("sh", line)


def test_pictures_are_images_of_a_readable_width():
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert pictures
    for path in pictures:
        header = (ROOT / path).read_bytes()[:24]
        assert header.startswith(b"\x89PNG")
        width, _ = struct.unpack(">II", header[16:])
        assert 600 <= width <= 3000, path


def test_what_an_embedding_is_for_comes_before_the_commands_and_the_method():
    order = ["similar", "make demo", "make test", "edge list", "PyTorch Geometric", "research", "kernel regression"]
    places = [README.lower().index(word.lower()) for word in order]
    assert places == sorted(places)
