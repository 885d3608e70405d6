from __future__ import annotations

from girl.lab.tables.default import COLUMNS, render

CHOICE = {"scales": {"own": 0.25, "mid": 1.0}, "explained": {"columns": 0.1}, "judged": True, "groups": 9}


def cells(default=0.9, seeds=3):
    return [
        {
            "dataset": "cora",
            "method": f"{name} 256",
            "seed": seed,
            "recipe": None,
            "choices": CHOICE if name == "default" else {},
            "rows": [
                {
                    "protocol": "public",
                    "probe": "linear",
                    "metric": "accuracy",
                    "val": 0.5,
                    "test": (default if name == "default" else 0.8) + 0.001 * seed * (name == "default"),
                }
            ],
        }
        for name in COLUMNS
        for seed in range(seeds)
    ]


def test_the_best_of_a_row_is_bold_also_if_it_is_a_control():
    table = render(cells())["default_256"]
    assert "**90." in table
    assert "**80.00" in render(cells(default=0.7))["default_256"]


def test_the_facts_count_gains_and_name_losses():
    assert (
        "more than a standard error on 1 rows, and worse by more than one on 0." in render(cells())["default_facts_256"]
    )
    lost = render(cells(default=0.7))["default_facts_256"]
    assert "worse by more than one on 1: Cora `public`" in lost


def test_the_choices_are_shown():
    assert "| Cora | 10 | – | – | 0.25 |" in render(cells())["default_choices"]


def test_missing_results_name_the_command():
    assert all("girl reproduce default" in text for text in render([]).values())
