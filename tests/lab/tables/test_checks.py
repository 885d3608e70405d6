from __future__ import annotations

from girl.lab.tables.checks import table_checks


def result(method, value):
    row = {"protocol": "public", "probe": "linear", "test": value, "val": value}
    return {"dataset": "cora", "method": method, "seed": 0, "rows": [row]}


def test_the_verdict_depends_on_the_distance_to_the_published_mean():
    text = table_checks([result("dgi", 0.83), result("ggd", 0.80), result("cca-ssg", 0.87)])
    dgi, cca, ggd = text.splitlines()[2:]
    assert "| 83.0 | 1 | 82.3 ± 0.6 | +0.7 | yes |" in dgi
    assert "| -3.9 | **no** |" in ggd
    assert "| +2.8 | above |" in cca


def test_without_results_the_command_is_named():
    assert "girl reproduce checks" in table_checks([])
