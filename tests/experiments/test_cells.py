from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from girl.experiments.cells import Cell, Results, run_cells

CALLS: list[Cell] = []


def compute(cell):
    CALLS.append(cell)
    if cell.seed == 2 and cell.method == "breaks":
        raise KeyboardInterrupt
    return {"rows": [{"protocol": "public", "probe": "linear", "val": cell.seed / 10}]}


def run(cells, folder):
    CALLS.clear()
    run_cells(cells, compute, Results(folder), jobs=1, console=Console(file=io.StringIO()))
    return list(CALLS)


def test_a_cell_is_computed_once(tmp_path):
    cells = [Cell("cora", "girl", seed, {"lr": 1}) for seed in range(3)]
    assert len(run(cells, tmp_path)) == 3
    assert run(cells, tmp_path) == []
    assert [row["seed"] for row in Results(tmp_path).of("cora")] == [0, 1, 2]
    assert "provenance" in json.loads((tmp_path / "cora.json").read_text())["cells"][0]


def test_another_recipe_takes_the_place_of_the_old_one(tmp_path):
    run([Cell("cora", "girl", 0, {"lr": 1}), Cell("cora", "raw", 0)], tmp_path)
    changed = Cell("cora", "girl", 0, {"lr": 2})
    assert run([changed, Cell("cora", "raw", 0)], tmp_path) == [changed]
    assert [row["recipe"] for row in Results(tmp_path).all()] == [{"lr": 2}, None]


def test_what_was_computed_before_an_interruption_is_kept(tmp_path):
    cells = [Cell("cora", "breaks", seed) for seed in range(4)]
    with pytest.raises(KeyboardInterrupt):
        run(cells, tmp_path)
    assert [cell.seed for cell in Results(tmp_path).missing(cells)] == [2, 3]
