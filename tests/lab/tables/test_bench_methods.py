from __future__ import annotations

import pytest

from girl.lab.tables.bench_methods import findings, table_epochs


def row(method, seconds, size):
    base = {"dataset": "digits", "stand_in": False, "method": method, "seconds_per_epoch": seconds}
    rounds = [seconds] * (2 if method == "cca-ssg" else 3)
    return base | {"beyond_data_bytes": size, "conv": "gcn", "layers": 2, "hidden": 512, "rounds": rounds}


@pytest.fixture
def result():
    return {
        "threads": 1,
        "provenance": {"processor": "a processor", "cores": 2},
        "contrastive": ["dgi", "grace"],
        "rows": [row("girl", 1.0, 2e6), row("dgi", 3.0, 1e6), row("grace", 2.0, 4e6), row("cca-ssg", 0.5, 1e6)],
    }


def test_findings_name_the_closest_and_those_that_are_not_beaten(result):
    text = findings(result)
    assert "Medians of 2 to 3 rounds" in text
    assert "digits: faster than every contrastive method; the closest is grace, 2.0× GIRL's." in text
    assert "digits: not smaller than dgi; the closest is dgi, 0.5× GIRL's." in text


def test_the_fastest_is_first(result):
    lines = table_epochs(result).splitlines()
    assert [line.split("|")[2].strip(" *") for line in lines[2:]] == ["cca-ssg", "girl", "grace", "dgi"]
