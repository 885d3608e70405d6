from __future__ import annotations

from girl.lab.tables.default_graphs import COLUMNS, render

CHOICE = {"scales": {"size": 0.25, "colors2": 1.0}, "explained": {"hop1": 0.1}, "judged": True, "groups": 0}


def cells(default=0.9):
    return [
        {
            "dataset": "mutag",
            "method": name,
            "seed": seed,
            "recipe": None,
            **({"choices": CHOICE} if name.startswith("default") else {}),
            "rows": [
                {
                    "protocol": "10-fold",
                    "probe": "svm",
                    "metric": "accuracy",
                    "val": 0.5,
                    "test": (default if name.startswith("default") else 0.8) + 0.001 * seed,
                }
            ],
        }
        for name in COLUMNS
        for seed in range(3)
    ]


def test_the_best_is_bold_and_the_facts_say_who_is_better():
    tables = render(cells())
    assert "**90.1" in tables["default_graphs"]
    assert "MUTAG: better than the best control" in tables["default_graphs_facts"]
    assert "MUTAG: not better than" in render(cells(0.7))["default_graphs_facts"]
    assert "| MUTAG | 10 | 0 | 0 | 0.25 |" in tables["default_graphs_choices"]


def test_missing_results_name_the_command():
    assert all("girl reproduce default-graphs" in text for text in render([]).values())
