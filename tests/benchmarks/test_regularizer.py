"""The benchmark of the regulariser runs, and its report can be made."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from girl.lab.tables.bench_regularizer import findings, table_regularizer

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "regularizer.py"


def test_it_measures_every_kind_of_step(tmp_path):
    out = tmp_path / "regularizer.json"
    command = [sys.executable, str(SCRIPT), "--quick", "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    result = json.loads(out.read_text())
    assert [row["model"] for row in result["rows"]] == ["girl", "torch_geometric"]
    for row in result["rows"]:
        assert set(row["seconds"]) == {"plain", "kr", "kr_all_layers", "published"}
        assert row["ratios"]["plain"] == 1
        assert min(row["seconds"].values()) > 0
    assert table_regularizer(result).count("SAGE") == 2
    assert "the target of 1.5" in findings(result)
