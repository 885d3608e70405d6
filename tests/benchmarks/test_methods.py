"""The benchmark of the methods runs, and its report says what was measured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from girl.lab.tables.bench_methods import table_epochs

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "methods.py"


def test_it_measures_an_epoch_of_each_method(tmp_path):
    out = tmp_path / "methods.json"
    names = ["girl", "dgi", "cca-ssg"]
    command = [sys.executable, str(SCRIPT), "--quick", "--out", str(out), "--methods", *names]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    result = json.loads(out.read_text())
    assert [row["method"] for row in result["rows"]] == names
    for row in result["rows"]:
        assert row["seconds_per_epoch"] > 0
        assert row["rounds"] == [row["seconds_per_epoch"]]
    assert table_epochs(result).count("digits") == len(names)
