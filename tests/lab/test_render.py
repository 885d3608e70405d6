from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from girl.lab.render import render

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rendered")
    render(RESULTS, folder)
    return folder


@pytest.mark.slow
def test_every_file_that_a_page_includes_is_rendered(rendered):
    for page in (ROOT / "docs").glob("*.md"):
        for name in re.findall(r"generated/(\w+\.(?:md|svg))", page.read_text(encoding="utf-8")):
            assert (rendered / name).stat().st_size > 0, f"{page.name} includes {name}"


@pytest.mark.slow
def test_every_file_that_is_rendered_is_included_by_a_page(rendered):
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    fragments = "".join(path.read_text(encoding="utf-8") for path in rendered.glob("*.md"))
    for path in rendered.iterdir():
        if path.suffix != ".png":
            assert f"generated/{path.name}" in pages + fragments


@pytest.mark.slow
def test_rendering_twice_gives_the_same_bytes(rendered, tmp_path):
    render(RESULTS, tmp_path)
    for path in rendered.iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes()


@pytest.mark.slow
def test_a_figure_that_is_named_was_drawn(rendered):
    for path in rendered.glob("*.md"):
        for figure in re.findall(r"generated/(\S+\.svg)", path.read_text(encoding="utf-8")):
            assert (rendered / figure).exists()


def test_where_results_are_missing_the_command_is_named(tmp_path):
    results = tmp_path / "results"
    (results / "bench").mkdir(parents=True)
    shutil.copy(RESULTS / "synthetic.json", results)
    shutil.copy(RESULTS / "bench" / "kernel.json", results / "bench")
    render(results, tmp_path / "out")
    for name in ("nodes_paper", "nodes_figure", "ablation_low", "ablation_paper_figure", "ranks_nodes_figure"):
        text = (tmp_path / "out" / f"{name}.md").read_text()
        assert text.startswith("*Not computed yet: `girl reproduce")
    assert "python benchmarks/scale.py" in (tmp_path / "out" / "scale_stages.md").read_text()
    # An empty file would leave a page with a heading over nothing.
    assert all(path.stat().st_size > 0 for path in (tmp_path / "out").iterdir())
