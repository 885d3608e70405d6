from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "sparse.py"


@pytest.mark.slow
def test_every_library_is_measured_at_every_width(tmp_path):
    out = tmp_path / "sparse.json"
    command = [sys.executable, SCRIPT, "--quick", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    recorded = json.loads((SCRIPT.parents[1] / "results" / "bench" / "sparse.json").read_text())
    measured = json.loads(out.read_text())
    assert measured.keys() == recorded.keys()
