from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "partition.py"


@pytest.mark.slow
def test_a_sample_of_the_edges_leaves_most_edges_within_parts(tmp_path):
    out = tmp_path / "partition.json"
    subprocess.run([sys.executable, str(SCRIPT), "--quick", "--out", str(out)], check=True, timeout=300)
    (row,) = json.loads(out.read_text())["rows"]
    assert row["dataset"] == "digits"
    assert 0.5 < row["half"] < row["all"] + 0.02 < 1.02
