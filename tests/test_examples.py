"""The notebooks of examples/ run from top to bottom, and the outputs stored in them are what they print."""

from __future__ import annotations

import re
from typing import Any

import pytest

from docs.notebooks import Notebook, read, run, write_page
from tests.helpers.pages import NOTEBOOKS


def notebook(*sources: str) -> Notebook:
    return {"cells": [{"cell_type": "code", "source": [source], "outputs": []} for source in sources]}


def words(cell: dict[str, Any]) -> list[str]:
    """The words that a cell printed, without the numbers: these may differ in the last digit between machines."""
    texts = [output.get("text") or output["data"].get("text/plain", []) for output in cell["outputs"]]
    return re.findall(r"[^\W\d_]{2,}", " ".join("".join(text) for text in texts))


def pictures(cell: dict[str, Any]) -> int:
    return sum("image/png" in output.get("data", {}) for output in cell["outputs"])


def test_there_is_a_notebook_for_each_kind_of_reader():
    assert [path.stem for path in NOTEBOOKS] == ["deep_gnn", "own_graph", "study"]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_runs_and_its_stored_outputs_are_current(path, cache, monkeypatch):
    monkeypatch.setenv("GIRL_DATA", str(cache))
    stored = read(path)
    for before, after in zip(stored["cells"], run(stored)["cells"], strict=True):
        if before["cell_type"] == "code":
            source = "".join(before["source"])
            assert words(before) == words(after), f"run python docs/notebooks.py {path}\n{source}"
            assert pictures(before) == pictures(after), source


def test_cells_share_names_and_give_what_they_print_and_return():
    first, second = run(notebook("x = 2\nprint('two')", "x + 1"))["cells"]
    assert first["outputs"] == [{"output_type": "stream", "name": "stdout", "text": ["two\n"]}]
    assert second["outputs"][0]["data"] == {"text/plain": ["3"]}


def test_a_figure_becomes_one_picture():
    (cell,) = run(notebook("import matplotlib.pyplot as plt\nplt.plot([1, 2])"))["cells"]
    assert pictures(cell) == len(cell["outputs"]) == 1


def test_a_failing_cell_fails_and_names_itself():
    with pytest.raises(ZeroDivisionError) as error:
        run(notebook("x = 0", "1 / x"))
    assert "cell 1" in str(error.traceback[-1].path)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_page_has_every_cell_and_its_pictures(path, tmp_path):
    page = write_page(path, tmp_path)
    text = page.read_text(encoding="utf-8")
    for cell in read(path)["cells"]:
        assert "".join(cell["source"]).replace("](../docs/", "](../../") in text
    for name in re.findall(r"!\[[^]]*\]\(([^)]+)\)", text):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert text.startswith("# ")
