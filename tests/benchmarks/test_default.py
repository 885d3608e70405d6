from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from girl.lab.tables.bench_default import findings, table_cost

ROOT = Path(__file__).parents[2]


def test_the_default_is_timed_beside_smoothing(tmp_path):
    out = tmp_path / "default.json"
    command = [sys.executable, str(ROOT / "benchmarks" / "default.py"), "--quick", "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    result = json.loads(out.read_text())
    (row,) = result["rows"]
    assert min(row[name] for name in ("sgc", "ppr", "chosen", "default")) > 0
    assert "1,797 × 64" in table_cost(result)
    assert "The default takes at most 8 times" in findings(result)
