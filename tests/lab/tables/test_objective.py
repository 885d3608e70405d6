from __future__ import annotations

import pytest

from girl.lab.objective import VARIANTS
from girl.lab.tables.objective import render


@pytest.fixture
def cells():
    """On Cora, every change costs two points, plus or minus half a point."""
    return [
        {
            "dataset": "cora",
            "method": variant,
            "seed": seed,
            "rows": [
                {"protocol": p, "probe": "linear", "val": 0.5, "test": 0.8 + 0.01 * seed - loss}
                for p, loss in (("public", at and 0.02 + 0.005 * (2 * seed - 1)), ("full", 0.0))
            ],
        }
        for at, variant in enumerate(VARIANTS)
        for seed in range(2)
    ]


def test_a_change_is_shown_by_its_paired_difference(cells):
    lines = render(cells)["objective_low"].splitlines()
    assert lines[0] == "| seeds: 2 | Cora, `public` |"
    assert lines[2] == "| **default** | **80.50 ± 0.71** |"
    assert lines[3] == "| untrained | -2.00 ± 0.50 |"
    assert len(lines) == 2 + len(VARIANTS)
    assert "| untrained | +0.00 ± 0.00 |" in render(cells)["objective_paper"]


def test_what_was_not_computed_is_a_dash_or_the_command(cells):
    few = [cell for cell in cells if cell["method"] != "untrained"]
    assert "| untrained | – |" in render(few)["objective_low"]
    assert "girl reproduce objective" in render([])["objective_low"]
