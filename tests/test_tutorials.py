"""Every tutorial runs as it stands: its blocks in order, in one folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("page", ["own_graph", "pyg_loop", "researcher"])
def test_tutorial(page, snippet, mirror, cache, monkeypatch):
    blocks = re.findall(r"```(sh|python)\n(.*?)```", (DOCS / f"{page}.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) >= 3
    monkeypatch.setenv("GIRL_DATA", str(cache))
    monkeypatch.setenv("GIRL_MIRROR", str(mirror))
    for language, code in blocks:
        snippet(language, code)


def test_a_method_of_ones_own_is_installed_and_used(tmp_path):
    text = (DOCS / "own_method.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    blocks = dict(re.findall(r"```(python|toml)\n(.*?)```", text, flags=re.DOTALL))
    (tmp_path / "blur.py").write_text(blocks["python"], encoding="utf-8")
    # What pip would leave of the package: its metadata, with the entry point.
    ((group, points),) = tomllib.loads(blocks["toml"])["project"]["entry-points"].items()
    metadata = tmp_path / "blur-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: blur\nVersion: 1.0\n", encoding="utf-8")
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    command = ["girl", "pretrain", "digits", "--method", "blur", "--set", "hide=0.3"]
    command += ["--hidden", "16", "--epochs", "2", "--out", "run"]
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    config = json.loads((tmp_path / "run" / "config.json").read_text(encoding="utf-8"))
    assert config["recipe"]["method"] == {"name": "blur", "hide": 0.3}
    first, last = (line.split()[3] for line in done.stdout.splitlines() if line.startswith("epoch"))
    assert float(last) < float(first)
