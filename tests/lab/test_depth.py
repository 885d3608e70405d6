from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from girl.errors import InputError
from girl.lab import depth
from girl.lab.cells import Cell, Results
from girl.lab.stand_in import make_stand_in


def result(dataset, kind, layers, value, seed, val):
    row = {"protocol": "geom-gcn", "probe": "none", "metric": "accuracy", "train": 1.0, "val": val, "test": 0.5}
    return {"dataset": dataset, "method": depth.method_name(kind, layers, value), "seed": seed, "rows": [row]}


def test_the_candidate_is_chosen_by_validation_on_the_pilot_alone():
    values = depth.CANDIDATES["kr"]
    results = [result("actor", "kr", 3, value, seed, 0.1 * seed + value / 1000) for value in values for seed in (0, 1)]
    assert depth.chosen_candidate(results, "actor", "kr", 3) == max(values)
    results += [result("actor", "kr", 3, values[0], seed, 1.0) for seed in range(2, 10)]  # not of the pilot
    assert depth.chosen_candidate(results, "actor", "kr", 3) == max(values)
    assert depth.chosen_candidate(results[:3], "actor", "kr", 3) is None  # a candidate is missing
    assert depth.chosen_candidate(results, "actor", "kr", 6) is None
    ties = [result("actor", "kr", 3, value, 0, 0.5) for value in values]
    assert depth.chosen_candidate(ties, "actor", "kr", 3) == values[0]


def test_kinds_differ_in_the_regulariser_only():
    recipes = {kind: depth.recipe("cora", kind, 6, 1.0, 1) for kind in depth.KINDS}
    assert len({(r.model, r.train) for r in recipes.values()}) == 1
    assert recipes["kr"].regularizer.weight == recipes["weight_decay"].regularizer.decay == 1.0
    assert depth.recipe("cora", "kr", 18, 1.0, 0).regularizer.watch == depth.WATCH


def test_a_dataset_has_no_more_seeds_than_its_plan():
    for name in ("texas", "cora"):
        seeds = {cell.seed for cell in depth.Depth(datasets=(name,), seeds=99).cells()}
        assert seeds == set(range(depth.PLANS[name].seeds))


@pytest.mark.slow
def test_the_study_runs_the_pilot_then_the_chosen_and_is_resumed(mirror, cache, tmp_path, monkeypatch):
    plan = replace(depth.PLANS["texas"], seeds=3, pilot=1, epochs=2, hidden=8)
    monkeypatch.setattr(depth, "PLANS", {"texas": plan})
    study = depth.Depth(datasets=("texas",), depths=(3,), regularizers=("none", "kr"), data_root=cache, mirror=mirror)

    def run():
        printed = io.StringIO()
        study.run(tmp_path, 1, Console(file=printed))
        return printed.getvalue()

    run()
    results = Results(tmp_path / "depth").of("texas")
    assert len(results) == 4 + 2 * 2  # four candidates on the pilot's split, two chosen ones on two others
    assert {one["seed"] for one in results} == {0, 1, 2}
    assert all(0 <= one["rows"][0][part] <= 1 for one in results for part in ("train", "val", "test"))
    assert run().count("every cell is there already") == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "scale", "metric"),
    [
        ("reddit", 0.003, "accuracy"),
        ("reddit2", 0.003, "accuracy"),
        ("ogbn-arxiv", 0.003, "accuracy"),
        ("ogbn-products", 0.0003, "accuracy"),
        ("ppi", 0.01, "micro-F1"),
    ],
)
def test_the_large_datasets_run_on_stand_ins(name, scale, metric, tmp_path, monkeypatch):
    monkeypatch.setattr(depth, "PLANS", {name: replace(depth.PLANS[name], epochs=1)})
    make_stand_in(name, tmp_path, scale=scale)
    for kind in ("fully_adjacent", "kr"):
        cell = Cell(name, kind, 0, depth.recipe(name, kind, 3, 1.0, 0).to_dict())
        computed = depth.Depth(data_root=tmp_path).compute(cell)
        assert computed["stand_in"]
        assert computed["rows"][0]["metric"] == metric
        assert 0 <= computed["rows"][0]["test"] <= 1


def test_wrong_datasets_and_depths_are_errors():
    with pytest.raises(InputError, match="expected one of texas"):
        depth.Depth(datasets=("citeseer",)).checked()
    with pytest.raises(InputError, match="given 5, expected one of 3, 6"):
        depth.Depth(depths=(5,)).checked()


def test_the_large_datasets_have_the_batches_of_the_paper():
    for name in depth.LARGE:
        recipe = depth.recipe(name, "kr", 3, 1.0, 0)
        assert (recipe.train.clusters, recipe.train.batch_size) == (1500, 10)
