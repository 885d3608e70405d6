from __future__ import annotations

from girl.lab.tables.bench_regularizer import findings, table_regularizer


def result(*ratios):
    rows = [
        {
            "model": "girl",
            "nodes": 2000,
            "depth": 18,
            "hidden": 256,
            "classes": 40,
            "seconds": {"plain": 0.1},
            "ratios": {"kr": 1.1, "kr_all_layers": ratio, "published": 9.0},
        }
        for ratio in ratios
    ]
    return {"rows": rows, "target": 1.5, "threads": 2, "provenance": {"processor": "a processor", "commit": "abc"}}


def test_findings_count_the_cases_that_meet_the_target():
    text = findings(result(1.2, 1.6))
    assert "at most 1.60 plain steps; the target of 1.5 is met in 1 of 2 cases" in text
    assert "costs 9 plain steps" in text


def test_a_row_has_times_and_ratios():
    assert "| 2,000 | 100 ms | 1.10 × | 1.20 × | 9.0 × |" in table_regularizer(result(1.2))
