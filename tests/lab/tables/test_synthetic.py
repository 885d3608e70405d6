from __future__ import annotations

import json
from pathlib import Path

import pytest

from girl.lab.tables.synthetic import render, table_1d, table_errors

FILE = Path(__file__).parents[3] / "results" / "synthetic.json"


@pytest.fixture
def result():
    return json.loads(FILE.read_text())


def test_numbers_come_from_the_json(result):
    result["table_1d"]["ours"]["mean"][0] = 0.424242
    assert "| 0.424 ±" in table_1d(result)
    result["independence"]["mean_absolute_error"]["ours"] = 0.4242
    assert "| 0.4242 |" in table_errors(result)


def test_the_three_figures_are_drawn(tmp_path):
    assert "20 draws of 1,000 samples" in render(FILE, tmp_path)["synthetic_settings"]
    assert {path.name for path in tmp_path.glob("*.svg")} == {
        "dimension_100.svg",
        "mutual_information.svg",
        "independence.svg",
    }
