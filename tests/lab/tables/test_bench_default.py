from __future__ import annotations

from girl.lab.tables.bench_default import findings, table_cost

ROW = {"dataset": "pubmed", "stand_in": False, "nodes": 19717, "columns": 500, "sgc": 0.5, "ppr": 1.0, "chosen": 2.0}
RESULT = {
    "threads": 2,
    "repeats": 3,
    "rows": [ROW | {"default": 3.0}, ROW | {"dataset": "physics", "default": 9.0}],
    "provenance": {"processor": "a processor"},
}


def test_a_row_has_seconds_and_ratios():
    assert "| pubmed | 19,717 × 500 | 0.50 | 1.00 | 2.00 | 3.00 | 6.0× | 3.0× | 1.5× |" in table_cost(RESULT)


def test_graphs_above_a_limit_are_named():
    text = findings(RESULT)
    assert "personalised PageRank with its components: not on physics 9.0×." in text
    assert "two steps of smoothing with their components: not on physics 18.0×." in text
    assert "its scales given: not on physics 4.5×." in text
    assert "pubmed" not in text
