"""The benchmark of the methods runs, and its report says what was measured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from girl.lab.tables.bench_methods import facts, table_epochs

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


def _row(method: str, seconds: float, size: float) -> dict[str, object]:
    row = {"dataset": "digits", "stand_in": False, "method": method, "seconds_per_epoch": seconds}
    rounds = [seconds] * (2 if method == "cca-ssg" else 3)
    return row | {"beyond_data_bytes": size, "conv": "gcn", "layers": 2, "hidden": 512, "rounds": rounds}


def test_facts_tell_who_is_faster_or_smaller():
    result = {
        "threads": 1,
        "provenance": {"processor": "a processor", "cores": 2},
        "contrastive": ["dgi", "grace"],
        "rows": [_row("girl", 1.0, 2e6), _row("dgi", 3.0, 1e6), _row("grace", 2.0, 4e6), _row("cca-ssg", 0.5, 1e6)],
    }
    said = facts(result)
    assert "Medians of 2 to 3 rounds" in said
    assert "digits: faster than every contrastive method; the closest is grace, 2.0× GIRL's." in said
    assert "digits: not smaller than dgi; the closest is dgi, 0.5× GIRL's." in said
    lines = table_epochs(result).splitlines()
    assert [line.split("|")[2].strip(" *") for line in lines[2:]] == ["cca-ssg", "girl", "grace", "dgi"]
