from __future__ import annotations

import pytest

from girl.lab.tables.judge import RULES, rankings, render, score

NAMES = ("raw", "sgc", "ppr", "far", "default", "untrained")


def cells(
    shares=(0.1, 0.2, 0.3, 0.4, 0.5, 0.05), accuracies=(0.5, 0.6, 0.7, 0.8, 0.9, 0.4), seeds=1, targets=("columns",)
):
    return [
        {
            "dataset": "cora",
            "method": name,
            "seed": seed,
            "recipe": None,
            "kind": "control",
            "explained": dict.fromkeys(targets, share),
            "rows": [{"protocol": "public", "probe": "linear", "metric": "accuracy", "val": acc, "vals": [acc, acc]}],
        }
        for seed in range(seeds)
        for name, share, acc in zip(NAMES, shares, accuracies, strict=True)
    ]


def test_a_perfect_judge_has_coefficient_1_and_no_regret():
    (ranking,) = rankings(cells())
    assert ranking.spearman(score) == pytest.approx(1)
    assert ranking.choice(score).name == ranking.best.name == "default"
    assert ranking.regret(ranking.choice(score)) == 0


def test_the_regret_of_a_wrong_choice_is_named():
    (ranking,) = rankings(cells(shares=(0.9, 0.2, 0.3, 0.4, 0.5, 0.05)))
    assert ranking.regret(ranking.choice(score)) == pytest.approx(40)
    assert ranking.random_regret == pytest.approx(25)


def test_regrets_of_fixed_choices_stand_beside_the_judges(tmp_path):
    rendered = render(cells(shares=(0.9, 0.2, 0.3, 0.4, 0.5, 0.05)), tmp_path)
    row = "| Cora, `public` | raw | 50.0 | default | 90.0 | 40.0 | 0.0 | 20.0 | 40.0 | 25.0 |"
    assert row in rendered["judge_regret"]
    assert "Above that: Cora (40.0)" in rendered["judge_facts"]
    assert "(stand-in)" not in rendered["judge_facts"]
    assert (tmp_path / "judge.svg").exists()


def test_a_target_that_could_not_be_judged_is_left_out(tmp_path):
    table = render(cells(targets=("positions",)), tmp_path)["judge_spearman"]
    assert "| Cora, `public` | 6 | 1.00 | – | – | 1.00 | 1.00 |" in table


def test_every_rule_ranks_one_target_alike():
    (ranking,) = rankings(cells(targets=("columns", "neighbors", "positions")))
    assert all(ranking.spearman(rule) == pytest.approx(1) for rule in RULES.values())


def test_a_seed_that_is_not_complete_does_not_count():
    partly = [cell for cell in cells(seeds=2) if cell["seed"] == 0 or cell["method"] == "raw"]
    for cell in partly:
        cell["rows"][0]["val"] = cell["rows"][0]["val"] if cell["seed"] == 0 else 0.0
    (ranking,) = rankings(partly)
    assert ranking.named("raw").accuracy == pytest.approx(50)


def test_failed_trainings_do_not_take_part():
    failed = [*cells(), cells()[0] | {"method": "dgi, 5 epochs", "rows": [], "failure": "diverged"}]
    assert len(rankings(failed)[0].entries) == len(NAMES)


def test_missing_results_name_the_command(tmp_path):
    assert all("girl reproduce judge" in text for text in render([], tmp_path).values())
