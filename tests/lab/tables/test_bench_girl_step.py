from __future__ import annotations

import pytest

from girl.lab.tables.bench_girl_step import findings, table_accuracy, table_losses, table_steps


@pytest.fixture
def result():
    step = {
        "dataset": "pubmed",
        "stand_in": False,
        "batch": "whole graph",
        "nodes": 19717,
        "inputs": 500,
        "conv": "appnp",
        "hops": 10,
        "layers": 1,
        "hidden": 512,
        "rows": 4096,
        "rank": 256,
        "prepare_seconds": 3.0,
        "girl_seconds": 1.5,
        "encoder_seconds": 1.0,
        "ratio": 1.5,
        "cpu_ratio": 1.4,
        "busy": 0.99,
        "girl_bytes": 3.2e8,
        "encoder_bytes": 2e8,
        "memory_ratio": 1.6,
        "process_ratio": 1.1,
    }
    accuracy = [
        {"rows": 4096, "rank": 256, "epochs": 0, "val_mean": {"public": 0.7}, "cpu_seconds": 2.0},
        {"rows": 4096, "rank": 256, "epochs": 15, "val_mean": {"public": 0.81}, "cpu_seconds": 15.0},
        {"rows": 0, "rank": 256, "epochs": 15, "val_mean": {"public": 0.82}, "cpu_seconds": 25.0},
    ]
    return {
        "threads": 1,
        "targets": {"step_ratio": 2.0, "memory_ratio": 1.5, "training_bytes": 4e9},
        "provenance": {"processor": "a processor", "cores": 2},
        "recipes": {"pubmed": {"method": {"rows": 4096, "rank": 256}}},
        "steps": [step],
        "training": {
            "physics": {"epochs": 10, "seconds": 60.0, "load_seconds": 2.0, "steps_seconds": 40.0, "peak_bytes": 1.5e9}
        },
        "losses": {
            "pubmed": [{"rows": 2048, "published_seconds": 3.0, "shipped_seconds": 0.15, "times": 20.0}],
        },
        "accuracy": {"pubmed": accuracy},
    }


def test_tables_hold_the_measurements(result):
    assert "| pubmed | whole graph | 1 s | 1.5 s | **1.50×** | 200 MB | 320 MB | **1.60×** |" in table_steps(result)
    assert "| pubmed | 2,048 | 3.00 s | 0.150 s | 20× |" in table_losses(result)


def test_the_shipped_choice_is_marked(result):
    lines = table_accuracy(result).splitlines()
    assert lines[2] == "| untrained | | 70.0 | |"
    assert lines[3] == "| **4,096** | **256** | 81.0 | 15 s |"
    assert lines[4] == "| all | 256 | 82.0 | 25 s |"
    assert len({line.count("|") for line in lines}) == 1


def test_findings_compare_with_the_targets(result):
    text = findings(result)
    assert "1.50× the encoder's (within the target of 2×)" in text
    assert "1.60× the encoder's (above the target of 1.5×), memory of the whole process, with the data, 1.10×" in text
    assert "1.50 GB of memory, below the target of 4 GB" in text
    assert "busy" not in text
    result["steps"][0]["busy"] = 0.5
    assert "busy machine" in findings(result)


def test_a_stand_in_is_named(result):
    result["steps"][0]["stand_in"] = True
    assert "pubmed (stand-in)" in table_steps(result)
