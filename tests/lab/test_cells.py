from __future__ import annotations

import io
import json
import subprocess
import sys
from functools import partial

import pytest
from rich.console import Console

from girl.lab.cells import Cell, Results, run_cells

CALLS: list[Cell] = []


def compute(cell, probe="linear"):
    CALLS.append(cell)
    if cell.seed == 2 and cell.method == "breaks":
        raise KeyboardInterrupt
    return {"rows": [{"protocol": "public", "probe": probe, "val": cell.seed / 10}]}


def run(cells, folder, probe="linear"):
    CALLS.clear()
    console = Console(file=io.StringIO())
    run_cells(cells, partial(compute, probe=probe), Results(folder), jobs=1, console=console, probes=[probe])
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


def test_another_probe_is_measured_too_and_keeps_what_the_first_gave(tmp_path):
    cells = [Cell("cora", "girl", 0)]
    run(cells, tmp_path)
    assert run(cells, tmp_path, "mlp") == cells
    assert run(cells, tmp_path, "mlp") == run(cells, tmp_path, "linear") == []
    (row,) = Results(tmp_path).of("cora")
    assert [one["probe"] for one in row["rows"]] == ["linear", "mlp"]


WRITER = """
import sys
from pathlib import Path
from girl.lab.cells import Cell, Results
for seed in range(20):
    Results(Path(sys.argv[1])).add(Cell("cora", sys.argv[2], seed), {"rows": []})
"""


def test_two_processes_lose_nothing(tmp_path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in ("a", "b")]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert len(Results(tmp_path).of("cora")) == 40
