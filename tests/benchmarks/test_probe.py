from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def check(result) -> None:
    for row in result["rows"]:
        for solver in ("lbfgs", "newton-cg"):
            assert row["girl"] > 0
            assert row[f"{solver} 1e-06"]["excess"] < row[f"{solver} 0.0001"]["excess"] + 1e-6
            assert row[f"{solver} 1e-06"]["excess"] < 0.01


def test_both_find_the_same_optimum(tmp_path):
    out = tmp_path / "probe.json"
    command = [sys.executable, str(ROOT / "benchmarks" / "probe.py"), "--quick", "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    check(json.loads(out.read_text()))


def test_the_measured_probe_is_faster_than_scikit_learn_at_the_same_accuracy():
    result = json.loads((ROOT / "results" / "bench" / "probe.json").read_text())
    check(result)
    for row in result["rows"]:
        assert min(row[f"{solver} 1e-06"]["seconds"] for solver in ("lbfgs", "newton-cg")) > row["girl"]
        assert min(row[f"{solver} 0.0001"]["excess"] for solver in ("lbfgs", "newton-cg")) > 0.1
    assert result["micro_f1"]["scikit_learn"] > 2 * result["micro_f1"]["girl"]
