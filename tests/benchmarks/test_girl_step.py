"""The benchmark of GIRL's step runs, is resumed, and its report can be made."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from girl.lab.tables.bench_girl_step import findings, table_accuracy, table_losses, table_steps

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "girl_step.py"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("bench") / "girl.json"
    command = [sys.executable, str(SCRIPT), "--quick", "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    return out


def test_it_measures_everything(run):
    result = json.loads(run.read_text())
    assert result["quick"]
    assert {"commit", "torch", "processor"} <= result["provenance"].keys()
    (step,) = result["steps"]
    assert step["dataset"] == "digits"
    assert step["ratio"] == pytest.approx(step["girl_seconds"] / step["encoder_seconds"])
    assert 0 < step["busy"] < 1.5 * result["threads"]
    assert min(step["girl_bytes"], step["encoder_bytes"]) > 0
    assert result["training"]["digits"]["peak_bytes"] > step["girl_bytes"]
    assert [row["rows"] for row in result["losses"]["digits"]] == [256, 512]
    untrained, *trained = result["accuracy"]["digits"]
    assert untrained["epochs"] == 0
    assert all(row["cpu_seconds"] > 0 for row in trained)
    assert {row["rows"] for row in trained} == {0, 256, 4096}
    assert all(0.5 < row["val_mean"]["random-10-10-80"] <= 1 for row in (untrained, *trained))


def test_its_report_can_be_made(run):
    result = json.loads(run.read_text())
    for render in (table_steps, table_losses, table_accuracy, findings):
        assert "digits" in render(result)
