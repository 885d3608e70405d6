from __future__ import annotations

import json
from pathlib import Path

from girl.report.docs import render
from girl.report.synthetic import table_1d

RESULTS = Path(__file__).parents[2] / "results"


def test_everything_the_pages_include_is_rendered(tmp_path):
    written = {path.name for path in render(RESULTS, tmp_path)}
    pages = [path.read_text() for path in (RESULTS.parent / "docs").glob("*.md")]
    wanted = {
        line.split("generated/")[1].split()[0].strip("`}")
        for page in pages
        for line in page.splitlines()
        if "generated/" in line
    }
    assert {name.replace(".svg", ".png") for name in wanted} <= written
    for name in wanted:
        assert (tmp_path / name).stat().st_size > 0


def test_rendering_twice_gives_the_same_bytes(tmp_path):
    render(RESULTS, tmp_path / "a")
    render(RESULTS, tmp_path / "b")
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_numbers_come_from_the_json():
    result = json.loads((RESULTS / "synthetic.json").read_text())
    result["table_1d"]["ours"]["mean"][0] = 0.424242
    assert "0.424 ±" in table_1d(result)
