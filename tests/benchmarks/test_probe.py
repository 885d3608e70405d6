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


def test_the_docstrings_of_the_probe_state_what_was_measured():
    result = json.loads((ROOT / "results" / "bench" / "probe.json").read_text())
    check(result)
    for row in result["rows"]:
        default, tight = ([row[f"{solver} {tol}"] for solver in ("lbfgs", "newton-cg")] for tol in ("0.0001", "1e-06"))
        assert min(one["excess"] for one in default) > 0.1
        if row["shape"][1] > 1000:
            assert min(one["seconds"] for one in tight) > row["girl"]
    assert result["micro_f1"]["scikit_learn"] > 10 * result["micro_f1"]["girl"]
