from __future__ import annotations

from girl.lab.scores import MethodScores
from girl.lab.tables.default import COLUMNS
from girl.lab.tables.default import render as render_with_nodes

CHOICE = {"scales": {"own": 0.25, "mid": 1.0}, "explained": {"columns": 0.1}, "judged": True, "groups": 9}


def nodes(peer=None):
    row = {"protocol": "public", "probe": "linear", "metric": "accuracy", "val": 0.5, "test": peer}
    results = [] if peer is None else [{"dataset": "cora", "method": "dgi", "seed": 0, "rows": [row]}]
    return MethodScores(
        results, "linear", name="nodes", compared=[("cora", "public")], baselines=[], methods=("girl", "dgi")
    )


def render(results, peer=None):
    return render_with_nodes(results, nodes(peer))


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
    gained = render(cells())["default_facts_256"]
    assert gained.count("better by more than a standard error on 1 of 1 rows, and worse on 0.") == 2
    lost = render(cells(default=0.7))["default_facts_256"]
    assert lost.count("on 0 of 1 rows, and worse on 1: Cora `public`") == 2


def test_the_default_has_a_rank_among_other_methods():
    assert "| Cora, `public` | 90.10 ± 0.10 | – | dgi: 85.00 | 1 | 1 |" in render(cells(), peer=0.85)["default_peers"]
    assert "mean rank of the default among these methods is 2.00" in render(cells(), peer=0.95)["default_peers"]


def test_the_choices_are_shown():
    assert "| Cora | 10 | – | – | 0.25 |" in render(cells())["default_choices"]


def test_missing_results_name_the_command():
    rendered = render([])
    assert "girl reproduce nodes --methods all" in rendered.pop("default_peers")
    assert all("girl reproduce default" in text for text in rendered.values())
