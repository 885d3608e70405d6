from __future__ import annotations

import statistics

from hypothesis import given
from hypothesis import strategies as st

from girl.evaluation.metrics import Comparison, Summary
from girl.lab.scores import MethodScores, Scores, bold_best, is_complete, is_gain, number_range


def result(method, seed, test, probe="linear", dataset="cora", **more):
    row = {"protocol": "public", "probe": probe, "val": test, "test": test}
    return {"dataset": dataset, "method": method, "seed": seed, "rows": [row], **more}


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6))
def test_a_summary_is_the_mean_and_the_sample_deviation_over_seeds(values):
    scores = Scores([result("girl", seed, value) for seed, value in enumerate(values)])
    summary = scores.summary("cora", "public", "girl")
    assert abs(summary.mean - statistics.fmean(values)) < 1e-9
    assert abs(summary.std - statistics.stdev(values)) < 1e-9


def test_differences_are_paired_on_shared_seeds():
    results = [result("girl", seed, 0.2 * seed + 0.1) for seed in range(4)]
    results += [result("raw", seed, 0.2 * seed) for seed in range(1, 6)]
    difference = Scores(results).difference("cora", "public", "girl", "raw")
    assert difference.count == 3
    assert abs(difference.difference - 0.1) < 1e-9
    assert difference.error < 1e-9
    assert Scores(results).difference("cora", "public", "girl", "sgc") is None


def test_probes_and_stand_ins_are_kept_apart():
    results = [result("girl", 0, 0.5), result("girl", 1, 0.9, probe="mlp"), result("girl", 0, 0.1, dataset="dd")]
    results[2]["stand_in"] = True
    assert Scores(results).by_seed("cora", "public", "girl") == {0: 0.5}
    assert Scores(results, "mlp").by_seed("cora", "public", "girl") == {1: 0.9}
    assert (Scores(results).title("cora"), Scores(results).title("dd")) == ("Cora", "DD (stand-in)")


def test_trainings_are_the_results_with_epochs():
    results = [result("girl", 0, 0.5, epochs=3), result("girl", 1, 0.5), result("raw", 0, 0.5, epochs=3)]
    assert Scores(results).trainings("cora", "girl") == results[:1]


def test_rows_of_a_comparison_are_those_where_another_method_has_results():
    results = [result("girl", 0, 0.5), result("dgi", 0, 0.5, dataset="dblp")]
    compared = (("cora", "public"), ("dblp", "public"))
    scores = MethodScores(results, "linear", name="nodes", compared=compared, baselines=(), methods=("girl", "dgi"))
    assert scores.rows == [("dblp", "public")]
    assert scores.peers == ["dgi"]


def test_one_pair_proves_no_gain():
    assert is_gain(Comparison(0.2, 0.1, 3))
    assert not is_gain(Comparison(0.1, 0.2, 3))
    assert not is_gain(Comparison(0.2, None, 1))
    assert not is_gain(None)


def test_only_a_mean_over_all_seeds_can_be_the_best():
    full, few = Summary(0.5, 0.1, 10), Summary(0.9, 0.1, 3)
    assert bold_best([full, few, None]) == ["**50.00 ± 10.00**", "90.00 ± 10.00 (3 seeds)", "–"]
    assert is_complete(full, [full, few])
    assert not is_complete(few, [full, few])


def test_a_range_of_equal_numbers_is_one_number():
    assert number_range([3, 3]) == "3"
    assert number_range([10, 3]) == "3 to 10"
