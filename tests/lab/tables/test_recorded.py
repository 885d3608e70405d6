from __future__ import annotations

import json
import re
from pathlib import Path

from girl.lab.tables.depth import DepthScores
from girl.lab.tables.recorded import graphmae_on_cora, render, table_authors_steps, texas_precision

RESULTS = Path(__file__).parents[3] / "results"


def test_every_number_is_read_from_the_file():
    recorded = json.loads((RESULTS / "recorded.json").read_text())
    numbers = set(re.findall(r"\d+(?:\.\d+)?", (RESULTS / "recorded.json").read_text()))
    for row in table_authors_steps(recorded).splitlines()[2:]:
        assert set(re.findall(r"\d+\.\d", row)) <= numbers
    recorded["graphmae_cora"]["accuracy"] = 42.4
    assert "reached 42.4" in graphmae_on_cora(recorded)


def test_the_precision_on_texas_is_that_of_the_results():
    recorded = json.loads((RESULTS / "recorded.json").read_text())
    results = [
        {
            "dataset": "texas",
            "method": "none 3",
            "seed": seed,
            "rows": [{"protocol": "geom-gcn", "probe": "none", "val": 0.1 * seed, "test": 0.1 * seed}],
        }
        for seed in range(4)
    ]
    text = texas_precision(recorded, DepthScores(results))
    assert "splits is 6.5 to 6.5 points" in text  # std of 0, 10, 20, 30 over the square root of 4
    assert "15.0 ± 6.5 for ours" in text
    assert "girl reproduce depth" in texas_precision(recorded, DepthScores([]))


def test_results_without_records_render(tmp_path):
    assert all("Not recorded" in text for text in render(tmp_path).values())
