from __future__ import annotations

import random
import re
import statistics

import pytest

from girl.lab.nodes import METHODS, PROTOCOLS
from girl.lab.published import table
from girl.lab.scores import Scores
from girl.lab.tables import nodes

TRAINED = ("released-1024", "encoder", "girl")


def cell(dataset, method, seed, scores, recipe=None, stand_in=False, probe="linear"):
    """A result as ``girl reproduce nodes`` writes it; scores: protocol → (validation, test)."""
    rows = [
        {
            "protocol": p,
            "probe": probe,
            "metric": "accuracy",
            "val": v,
            "test": t,
            "strength": 1.0,
            "probe_seconds": 0.5,
        }
        for p, (v, t) in scores.items()
    ]
    trained = {"train_seconds": 3.0, "epochs": 20, "loss": [1.0]} if method in TRAINED else {}
    made = {"girl": "0", "processor": "some processor", "cores": 2}
    base = {"dataset": dataset, "method": method, "seed": seed, "recipe": recipe, "seconds": 4.0, "peak_gb": 0.5}
    return {**base, **trained, "rows": rows, "stand_in": stand_in, "provenance": made}


@pytest.fixture
def cells():
    """Every dataset and method, four seeds, splits that differ more than methods do."""
    draw = random.Random(0)
    found = []
    for dataset, protocols in PROTOCOLS.items():
        for seed in range(4):
            luck = draw.gauss(0, 0.05)
            for method in METHODS:
                scores = {p: (0.7 + luck, 0.7 + luck + draw.gauss(0, 0.02)) for p in protocols}
                found.append(cell(dataset, method, seed, scores))
    return found


def rows(text):
    """The cells of a Markdown table, without head and rule."""
    return [[part.strip() for part in line.strip("|").split(" | ")] for line in text.splitlines()[2:]]


def head(text):
    return [part.strip() for part in text.splitlines()[0].strip("|").split(" | ")]


def measured(cells, dataset, protocol, method):
    own = [c for c in cells if (c["dataset"], c["method"]) == (dataset, method)]
    return [row["test"] for c in own for row in c["rows"] if row["protocol"] == protocol]


@pytest.mark.parametrize("labels", ["paper", "low"])
def test_numbers_are_the_means_and_deviations_of_the_json(cells, labels):
    text = nodes.table_scores(Scores(cells), labels)
    columns = head(text)
    wanted = [d for d in PROTOCOLS if nodes.protocol_of(d, labels)]
    assert len(rows(text)) == len(wanted)
    for dataset, row in zip(wanted, rows(text), strict=True):
        protocol = nodes.protocol_of(dataset, labels)
        assert f"`{protocol}`" in row[0]
        assert row[1] == "4"
        for method, title in {"raw": "raw", **nodes.COLUMNS}.items():
            values = measured(cells, dataset, protocol, method)
            mean, std = statistics.fmean(values), statistics.stdev(values)
            assert row[columns.index(title)].strip("*") == f"{100 * mean:.2f} ± {100 * std:.2f}"


def test_the_largest_mean_is_bold_whatever_the_method(cells):
    for row in rows(nodes.table_scores(Scores(cells), "paper")):
        means = [float(re.match(r"[\d.]+", part.strip("*"))[0]) for part in row[2:8]]
        bold = [float(part.strip("*").split()[0]) for part in row[2:8] if part.startswith("**")]
        assert bold == [max(means)]


def test_the_smoothed_control_is_chosen_on_validation_not_on_test():
    found = [
        cell("texas", "sgc", 0, {"geom-gcn": (0.9, 0.1)}),
        cell("texas", "ppr", 0, {"geom-gcn": (0.2, 0.8)}),
        cell("texas", "hops", 0, {"geom-gcn": (0.3, 0.7)}),
    ]
    assert nodes.best_smoothed(Scores(found), "texas", "geom-gcn") == "sgc"
    assert "10.00** (sgc)" in nodes.table_scores(Scores(found), "paper")


def test_differences_are_paired_on_the_seeds_that_both_have():
    # Splits differ by tens of points, the methods by one: unpaired, the error would be some twenty points.
    level = {0: 0.2, 1: 0.5, 2: 0.8}
    found = [cell("texas", "untrained", s, {"geom-gcn": (0, v)}) for s, v in level.items()]
    found += [cell("texas", "girl", s, {"geom-gcn": (0, v + 0.01)}) for s, v in level.items()]
    found.append(cell("texas", "girl", 3, {"geom-gcn": (0, 0.99)}))  # its control is still to come
    random.Random(1).shuffle(found)
    text = nodes.table_scores(Scores(found), "paper")
    (row,) = rows(text)
    assert row[head(text).index("GIRL − untrained")] == "+1.00 ± 0.00"
    assert row[1] == "3 to 4"


def test_the_paper_is_reached_by_an_equal_mean_and_the_highest_by_a_larger_one():
    for mean, expected in ((0.757, "yes, +0.00"), (0.7569, "no, -0.01")):
        found = [cell("texas", "girl", s, {"geom-gcn": (0, mean)}) for s in range(10)]
        assert rows(nodes.table_scores(Scores(found), "paper"))[0][-2:] == ["75.7", expected]
    (highest,) = [float(row["accuracy"]) for row in table("highest") if row["dataset"] == "cora"]
    found = [cell("cora", "girl", s, {"public": (0, highest / 100)}) for s in range(10)]
    assert rows(nodes.table_scores(Scores(found), "low"))[0][-1] == "no, +0.00"


def test_every_published_number_is_found():
    known = {dataset for dataset in PROTOCOLS if nodes.target(dataset, "paper")}
    assert known == PROTOCOLS.keys() - {"usa-airports-structural"}
    assert nodes.target("photo", "paper") == (95.6, "95.6 ± 0.1")
    assert nodes.target("photo", "low") == (93.2, "93.2")


def test_findings_count_successes_and_name_failures():
    found = []
    for dataset, gain in (("texas", 0.1), ("actor", -0.1)):
        for s in range(3):
            found.append(cell(dataset, "untrained", s, {"geom-gcn": (0, 0.5)}))
            found.append(cell(dataset, "girl", s, {"geom-gcn": (0, 0.5 + gain + 0.01 * s)}))
    text = nodes.findings(Scores(found))
    assert "beats its untrained encoder by more than one standard error in 1 of 2 rows; not on Actor." in text
    assert "reaches the paper's number in 1 of 2 rows; not on Texas." in text
    assert "smoothed" not in text


def test_one_seed_proves_nothing():
    found = [cell("texas", m, 0, {"geom-gcn": (0, v)}) for m, v in (("untrained", 0.5), ("girl", 0.9))]
    assert "standard error" not in nodes.findings(Scores(found))


def test_a_mean_over_fewer_seeds_is_not_judged():
    found = [cell("texas", "raw", s, {"geom-gcn": (0, 0.5)}) for s in range(10)]
    found += [cell("texas", m, 0, {"geom-gcn": (0, 0.9)}) for m in ("girl", "encoder")]
    text = nodes.table_scores(Scores(found), "paper")
    (row,) = rows(text)
    assert row[head(text).index("GIRL")] == "90.00 (1 seed)"
    assert row[head(text).index("raw")].startswith("**50.00")
    assert row[-1] == "–"
    assert "reaches the paper's number" not in nodes.findings(Scores(found))


def test_a_stand_in_is_named_and_another_probe_left_out():
    found = [cell("texas", "girl", 0, {"geom-gcn": (0, 0.5)}, stand_in=True)]
    found.append(cell("texas", "girl", 1, {"geom-gcn": (0, 0.9)}, probe="mlp"))
    (row,) = rows(nodes.table_scores(Scores(found), "paper"))
    assert row[0].startswith("Texas (stand-in)")
    assert "**50.00**" in row
    assert "**90.00**" in rows(nodes.table_scores(Scores(found, "mlp"), "paper"))[0]


def test_costs_are_means_over_seeds(cells):
    found = rows(nodes.table_cost(Scores(cells)))
    assert len(found) == len(PROTOCOLS) * len(TRAINED)
    assert found[0] == ["Cora", "released loss, 1,024 rows", "20", "0.150", "3.0", "0.50"]


def test_without_results_every_fragment_names_the_command(tmp_path):
    assert set(nodes.render([], tmp_path).values()) == {"*Not computed yet: `girl reproduce nodes` does it.*\n"}
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("method", METHODS)
def test_any_single_cell_renders(method, tmp_path):
    found = [cell("cora", method, 0, {"public": (0.5, 0.5), "full": (0.5, 0.5)})]
    assert all(nodes.render(found, tmp_path).values())


def test_the_figure_names_every_dataset(cells, tmp_path):
    path = nodes.draw_gains(Scores(cells), tmp_path)
    assert path == tmp_path / "nodes_gains.png"
    text = path.with_suffix(".svg").read_text()
    assert all(Scores(cells).title(dataset) in text for dataset in PROTOCOLS)


@pytest.mark.parametrize("kept", ["girl", "encoder"])
def test_the_figure_draws_what_is_there(cells, kept, tmp_path):
    other = {"girl": "encoder", "encoder": "girl"}[kept]
    path = nodes.draw_gains(Scores([c for c in cells if c["method"] != other]), tmp_path)
    text = path.with_suffix(".svg").read_text()
    assert ("GIRL, tuned" in text) == (kept == "girl")
    assert ("GIRL, recipe encoder" in text) == (kept == "encoder")


def test_other_methods_are_left_out(tmp_path):
    girl = [cell("cora", "girl", 0, {"public": (0.5, 0.5), "full": (0.5, 0.5)})]
    other = [cell("cora", "dgi", seed, {"public": (0.9, 0.9), "full": (0.9, 0.9)}) for seed in range(9)]
    assert nodes.render(girl + other, tmp_path) == nodes.render(girl, tmp_path)
