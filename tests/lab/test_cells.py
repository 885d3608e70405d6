from __future__ import annotations

import subprocess
import sys

from girl.lab.cells import Cell, Results


def result(probe="linear"):
    return {"rows": [{"protocol": "public", "probe": probe, "val": 0.5}]}


def test_a_result_is_found_by_its_cell(tmp_path):
    results = Results(tmp_path)
    cells = [Cell("cora", "girl", seed, {"lr": 1}) for seed in range(3)]
    results.add(cells[1], result())
    assert results.missing(cells) == [cells[0], cells[2]]
    assert [Cell.of(saved) for saved in results.all()] == [cells[1]]


def test_a_cell_with_another_recipe_is_missing_and_replaces_the_old_one(tmp_path):
    results = Results(tmp_path)
    results.add(Cell("cora", "girl", 0, {"lr": 1}), result())
    changed = Cell("cora", "girl", 0, {"lr": 2})
    assert results.missing([changed]) == [changed]
    results.add(changed, result())
    assert [saved["recipe"] for saved in results.all()] == [{"lr": 2}]


def test_another_probe_is_added_beside_the_first(tmp_path):
    results, cell = Results(tmp_path), Cell("cora", "girl", 0)
    results.add(cell, result())
    assert results.missing([cell], ["linear"]) == []
    assert results.missing([cell], ["linear", "mlp"]) == [cell]
    results.add(cell, result("mlp"))
    assert results.missing([cell], ["linear", "mlp"]) == []
    (saved,) = results.of("cora")
    assert [row["probe"] for row in saved["rows"]] == ["linear", "mlp"]


WRITER = """
import sys
from pathlib import Path
from girl.lab.cells import Cell, Results
for seed in range(20):
    Results(Path(sys.argv[1])).add(Cell("cora", sys.argv[2], seed), {"rows": []})
"""


def test_two_processes_that_write_lose_nothing(tmp_path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in ("a", "b")]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert len(Results(tmp_path).of("cora")) == 40
