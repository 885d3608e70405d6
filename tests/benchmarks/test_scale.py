"""The benchmark of the largest graphs runs on small pictures of them, and its report can be made."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from girl.lab.tables import bench_scale as scale_bench

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "scale.py"


def test_it_goes_through_every_stage(tmp_path):
    out, folder = tmp_path / "scale.json", tmp_path / "work"
    command = [sys.executable, str(SCRIPT), "--quick", "--out", str(out), "--folder", str(folder), "--keep"]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    assert folder.exists()
    result = json.loads(out.read_text())
    assert [row["dataset"] for row in result["rows"]] == ["ogbn-arxiv", "reddit", "ogbn-products"]
    for row in result["rows"]:
        assert len(row["stages"]) == 7
        assert all(stage["seconds"] > 0 and stage["peak_bytes"] > 0 for stage in row["stages"].values())
        epoch = row["stages"]["GIRL, one epoch"]
        assert 0 < epoch["batch_edges"] < epoch["epoch_edges"]
        assert epoch["steps"] == 4
    assert scale_bench.table_stages(result).count("GB") == 21
    assert scale_bench.findings(result).count("the target of") == 4
    assert scale_bench.table_model(result).count("\n") == 5
    assert scale_bench.table_processes(result).count("two") == 2
    assert scale_bench.table_larger(result).count("\n") == 5
    assert "100 M nodes" in scale_bench.larger_needs(result)
    # One stage of one graph anew: what was found of the others stays.
    command.remove("--keep")
    command += ["--datasets", "reddit"]
    subprocess.run([*command, "--stages", "linear probe"], check=True, capture_output=True, timeout=600)
    assert not folder.exists()
    again = json.loads(out.read_text())
    assert again["processes"] == result["processes"]
    same = [
        new["stages"][stage] == old["stages"][stage]
        for new, old in zip(again["rows"], result["rows"], strict=True)
        for stage in old["stages"]
    ]
    assert same == [True] * 13 + [False] + [True] * 7
    refused = subprocess.run([*command, "--stages", "linear probe", "--out", str(tmp_path / "other.json")], check=False)
    assert refused.returncode == 2
