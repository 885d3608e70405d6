from __future__ import annotations

import json
from pathlib import Path

import pytest

from girl.lab.tables.bench_kernel import NAMES, draw_kernel_bench, findings, table_against, table_scaling

FILE = Path(__file__).parents[3] / "results" / "bench" / "kernel.json"


@pytest.fixture
def result():
    return json.loads(FILE.read_text())


def test_numbers_come_from_the_json(result):
    result["against"][0]["seconds"]["published"] = 4242.0
    result["scaling"][0]["seconds"] = 42.42
    result["slope"] = 0.424
    assert "| 4.24e+03 s |" in table_against(result)
    assert "| 42.42 |" in table_scaling(result)
    assert "on logarithmic axes: 0.424." in findings(result)


def test_every_algorithm_has_a_row_and_every_size_a_line(result):
    assert len(table_against(result).splitlines()) == 2 + len(NAMES) + 1
    assert len(table_scaling(result).splitlines()) == 2 + len(result["scaling"])


def test_the_figure_names_the_slope(result, tmp_path):
    text = draw_kernel_bench(result, tmp_path).with_suffix(".svg").read_text(encoding="utf-8")
    assert f"slope {result['slope']:.2f}" in text
