from __future__ import annotations

import json
from pathlib import Path

import pytest

from girl.lab.tables import bench_scale

FILE = Path(__file__).parents[3] / "results" / "bench" / "scale.json"


@pytest.fixture
def result():
    return json.loads(FILE.read_text())


def test_every_stage_has_a_row_and_every_graph_a_column(result):
    lines = bench_scale.table_stages(result).splitlines()
    assert len(lines) == 3 + len(result["rows"][0]["stages"])
    assert {line.count("|") for line in lines} == {2 + len(result["rows"])}


def test_a_target_is_missed_by_a_larger_peak(result):
    stages = result["rows"][-1]["stages"]
    stages["linear probe"]["peak_bytes"] = 15.9e9
    assert "at most 15.9 GB, in the stage “linear probe”; the target of 16 GB is met" in bench_scale.findings(result)
    stages["linear probe"]["peak_bytes"] = 16.1e9
    assert "the target of 16 GB is missed" in bench_scale.findings(result)


def test_without_a_measurement_of_two_processes_nothing_is_claimed(result):
    one, two = (result["processes"][f"{way}_seconds"] for way in ("one", "two"))
    assert f"{50 * one / two:.0f} %" in bench_scale.table_processes(result)
    del result["processes"]
    assert bench_scale.table_processes(result) == ""
    assert "100 %" in bench_scale.larger_needs(result)


def test_the_model_is_exact_on_times_that_it_made(result):
    epochs, _, rates = bench_scale._fitted(result)
    for row, epoch in zip(result["rows"], epochs, strict=True):
        row["stages"][bench_scale.EPOCH]["epoch_seconds"] = rates.seconds(epoch)
    assert bench_scale.table_model(result).count("| +0 % |") + bench_scale.table_model(result).count("| −0 % |") == 3


def test_more_processes_take_less_time(result):
    lines = bench_scale.table_larger(result).splitlines()[2:]
    minutes = [float(line.split("|")[3].split()[0].replace(",", "")) for line in lines if "min" in line]
    assert minutes == sorted(minutes, reverse=True)
    assert len(lines) == len(bench_scale.PROCESSES)
