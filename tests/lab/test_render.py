from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from girl.lab.render import render
from girl.lab.tables.synthetic import table_1d
from girl.training.recipe import Recipe

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


def test_pages_stand_before_anything_was_computed_on_graphs(tmp_path):
    results = tmp_path / "results"
    (results / "bench").mkdir(parents=True)
    shutil.copy(RESULTS / "synthetic.json", results)
    shutil.copy(RESULTS / "bench" / "kernel.json", results / "bench")
    render(results, tmp_path / "out")
    for name in ("nodes_paper", "nodes_figure", "ablation_low", "ablation_paper_figure", "ranks_nodes_figure"):
        text = (tmp_path / "out" / f"{name}.md").read_text()
        assert text.startswith("*Not computed yet")
    # An empty piece would leave a page with a heading over nothing.
    assert all(path.stat().st_size > 0 for path in (tmp_path / "out").iterdir())


def test_a_piece_never_names_a_figure_that_was_not_drawn(tmp_path):
    render(RESULTS, tmp_path)
    for piece in tmp_path.glob("*.md"):
        for figure in re.findall(r"generated/(\S+\.svg)", piece.read_text()):
            assert (tmp_path / figure).exists()


def test_the_python_of_the_training_page_runs(snippet):
    page = (RESULTS.parent / "docs" / "training.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    snippet("python", code)


def test_the_recipes_of_the_training_page_are_recipes(tmp_path):
    page = (RESULTS.parent / "docs" / "training.md").read_text(encoding="utf-8")
    found = re.findall(r"```(toml|yaml)\n(.*?)```", page, flags=re.DOTALL)
    assert len(found) == 2
    for kind, text in found:
        path = tmp_path / f"recipe.{kind}"
        path.write_text(text, encoding="utf-8")
        assert Recipe.load(path).train.epochs == 40
