"""Every tutorial runs as it is written: its blocks in order, in one folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib

import pytest

from tests.helpers.pages import DOCS, blocks


@pytest.mark.slow
@pytest.mark.parametrize("page", ["own_graph", "pyg_loop", "researcher"])
def test_tutorial_runs(page, snippet, mirror, cache, monkeypatch):
    monkeypatch.setenv("GIRL_DATA", str(cache))
    monkeypatch.setenv("GIRL_MIRROR", str(mirror))
    for language, code in blocks((DOCS / f"{page}.md").read_text(encoding="utf-8"), "sh", "python"):
        snippet(language, code)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["datasets", "training"])
def test_python_of_a_page_runs(page, snippet, mirror, cache, monkeypatch):
    monkeypatch.setenv("GIRL_DATA", str(cache))
    monkeypatch.setenv("GIRL_MIRROR", str(mirror))
    for language, code in blocks((DOCS / f"{page}.md").read_text(encoding="utf-8"), "python"):
        snippet(language, code)


@pytest.mark.slow
def test_the_method_of_the_page_is_found_through_its_entry_point_and_learns(tmp_path):
    sources = dict(blocks((DOCS / "own_method.md").read_text(encoding="utf-8"), "python", "toml"))
    (tmp_path / "blur.py").write_text(sources["python"], encoding="utf-8")
    # What pip would install: the package's metadata, with the entry point.
    ((group, points),) = tomllib.loads(sources["toml"])["project"]["entry-points"].items()
    metadata = tmp_path / "blur-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: blur\nVersion: 1.0\n", encoding="utf-8")
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    command = ["girl", "pretrain", "digits", "--method", "blur", "--set", "hide=0.3"]
    command += ["--hidden", "16", "--epochs", "2", "--out", "run"]
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    config = json.loads((tmp_path / "run" / "config.json").read_text(encoding="utf-8"))
    assert config["recipe"]["method"] == {"name": "blur", "hide": 0.3}
    first, last = (line.split()[3] for line in done.stdout.splitlines() if line.startswith("epoch"))
    assert float(last) < float(first)
