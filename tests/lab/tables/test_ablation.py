from __future__ import annotations

import random
import statistics

import pytest

from girl.lab.ablation import CONVS, DEPTHS, Ablation, method_name
from girl.lab.nodes import PROTOCOLS
from girl.lab.scores import Scores
from girl.lab.tables import ablation


@pytest.fixture
def cells():
    draw = random.Random(0)
    return [
        {
            "dataset": dataset,
            "method": method_name(conv, depth, trained),
            "seed": seed,
            "rows": [
                {"protocol": p, "probe": "linear", "metric": "accuracy", "val": 0.5, "test": draw.uniform(0.6, 0.9)}
                for p in PROTOCOLS[dataset]
            ],
        }
        for dataset in Ablation().datasets
        for conv in CONVS
        for depth in DEPTHS
        for trained in (False, True)
        for seed in range(3)
    ]


def values(cells, dataset, protocol, method):
    return [
        row["test"]
        for c in cells
        for row in c["rows"]
        if (c["dataset"], c["method"], row["protocol"]) == (dataset, method, protocol)
    ]


def table(text, title):
    part = text.split(f"**{title}**")[1].split("\n\n")[1]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in part.splitlines()[2:]]


def test_the_table_holds_the_means_and_the_paired_differences(cells):
    text = ablation.table_ablation(Scores(cells), "paper")
    lines = table(text, "Photo")
    assert len(lines) == 3 * len(CONVS)
    for at, conv in enumerate(CONVS):
        for depth in DEPTHS:
            plain, trained = (
                values(cells, "photo", "random-60-20-20", method_name(conv, depth, t)) for t in (False, True)
            )
            for line, scores in zip(lines[3 * at :], (plain, trained), strict=False):
                text_of = f"{100 * statistics.fmean(scores):.2f} ± {100 * statistics.stdev(scores):.2f}"
                best = statistics.fmean(scores) == max(map(statistics.fmean, (plain, trained)))
                assert line[depth] == (f"**{text_of}**" if best else text_of)
            gaps = [b - a for a, b in zip(plain, trained, strict=True)]
            error = statistics.stdev(gaps) / len(gaps) ** 0.5
            assert lines[3 * at + 2][depth] == f"{100 * statistics.fmean(gaps):+.2f} ± {100 * error:.2f}"


def test_findings_count_gains_and_losses(cells):
    for c in cells:
        for row in c["rows"]:
            up = c["method"].startswith("gcn") == c["method"].endswith("girl")
            row["test"] = (0.8 if up else 0.7) + 0.001 * c["seed"]
    # GCN gains, the three others lose, in all five depths.
    lines = ablation.findings(Scores(cells)).splitlines()
    assert len(lines) == 2
    for line in lines:
        assert "in 20 of 80 encoders and below it in 60 (Cora 5 and 15 of 20, " in line


def test_one_seed_is_too_few_for_findings(cells):
    assert "too few for a standard error" in ablation.findings(Scores([c for c in cells if c["seed"] == 0]))


@pytest.mark.parametrize("labels", ["paper", "low"])
def test_a_panel_for_each_dataset(cells, labels, tmp_path):
    path = ablation.draw_ablation(Scores(cells), labels, tmp_path)
    text = path.with_suffix(".svg").read_text()
    for dataset, title in (("cora", "Cora"), ("photo", "Photo")):
        assert f"{title}, {PROTOCOLS[dataset][-1 if labels == 'paper' else 0]}" in text


def test_incomplete_results_are_drawn_and_shown(cells, tmp_path):
    kept = ("gcn 1 girl", "gcn 1 untrained", "sage 3 girl")
    some = [c for c in cells if c["dataset"] == "cora" and c["method"] in kept]
    assert ablation.draw_ablation(Scores(some), "paper", tmp_path) is not None
    assert "–" in ablation.table_ablation(Scores(some), "paper")


def test_without_results_every_fragment_names_the_command(tmp_path):
    assert set(ablation.render([], tmp_path).values()) == {"*Not computed yet: `girl reproduce ablation` does it.*\n"}
    assert not list(tmp_path.iterdir())
