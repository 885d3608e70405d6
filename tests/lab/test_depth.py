from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from girl.errors import InputError
from girl.lab import depth
from girl.lab.cells import Results
from girl.lab.stand_in import make_stand_in


def row(dataset, kind, layers, value, seed, val):
    one = {"protocol": "geom-gcn", "probe": "none", "metric": "accuracy", "train": 1.0, "val": val, "test": 0.5}
    cell = depth.cell(dataset, kind, layers, value, seed)
    return vars(cell) | {"rows": [one]}


def test_the_candidate_is_chosen_by_validation_on_the_pilot_alone():
    values = depth.CANDIDATES["kr"]
    rows = [row("actor", "kr", 3, value, seed, 0.1 * seed + value / 1000) for value in values for seed in (0, 1)]
    assert depth.chosen(rows, "actor", "kr", 3) == max(values)
    rows += [row("actor", "kr", 3, values[0], seed, 1.0) for seed in range(2, 10)]  # not of the pilot
    assert depth.chosen(rows, "actor", "kr", 3) == max(values)
    assert depth.chosen(rows[:3], "actor", "kr", 3) is None  # a candidate is missing
    assert depth.chosen(rows, "actor", "kr", 6) is None
    ties = [row("actor", "kr", 3, value, 0, 0.5) for value in values]
    assert depth.chosen(ties, "actor", "kr", 3) == values[0]


def test_kinds_differ_in_the_regulariser_only():
    recipes = {kind: depth.recipe_of("cora", kind, 6, 1.0, 1) for kind in depth.KINDS}
    assert len({(r.model, r.train) for r in recipes.values()}) == 1
    assert recipes["kr"].regularizer.weight == recipes["wd"].regularizer.decay == 1.0
    assert depth.recipe_of("cora", "kr", 18, 1.0, 0).regularizer.watch == depth.WATCH


@pytest.fixture
def small(monkeypatch):
    """Two epochs, narrow, two splits."""
    plans = {"texas": replace(depth.PLANS["texas"], seeds=3, pilot=1, epochs=2)}
    made = depth.recipe_of
    monkeypatch.setattr(depth, "PLANS", plans)
    monkeypatch.setattr(depth, "recipe_of", lambda *a: replace(made(*a), model=replace(made(*a).model, hidden=8)))


def test_the_study_runs_the_pilot_then_the_chosen_and_is_resumed(small, mirror, cache, tmp_path):
    results = Results(tmp_path)
    compute = depth.Compute(cache, mirror)

    def run(seeds=None):
        out = io.StringIO()
        depth.run_depth(["texas"], seeds, [3], ["none", "kr"], results, compute, 1, Console(file=out))
        return out.getvalue()

    run()
    rows = results.of("texas")
    assert len(rows) == 4 + 2 * 2  # four candidates on the pilot's split, two chosen on two others
    assert {r["seed"] for r in rows} == {0, 1, 2}
    assert all(0 <= r["rows"][0][part] <= 1 for r in rows for part in ("train", "val", "test"))
    assert run().count("every cell is there already") == 2


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
def test_the_large_ones_run_on_stand_ins_of_their_raw_format(name, scale, metric, tmp_path, monkeypatch):
    monkeypatch.setattr(depth, "PLANS", {name: replace(depth.PLANS[name], epochs=1)})
    make_stand_in(name, tmp_path, scale=scale)
    for kind in ("fa", "kr"):
        one = depth.cell(name, kind, 3, 1.0, 0)
        found = depth.Compute(tmp_path)(one)
        assert found["stand_in"]
        assert found["rows"][0]["metric"] == metric
        assert 0 <= found["rows"][0]["test"] <= 1


def test_wrong_names_and_depths_are_told():
    with pytest.raises(InputError, match="expected one of texas"):
        depth.cells(["citeseer"])
    with pytest.raises(InputError, match="given 5, expected one of 3, 6"):
        depth.cells(["texas"], depths=[5])


def test_the_large_ones_have_the_batches_of_the_paper():
    for name in ("reddit", "reddit2", "ogbn-arxiv", "ogbn-products", "ppi"):
        recipe = depth.recipe_of(name, "kr", 3, 1.0, 0)
        assert (recipe.train.clusters, recipe.train.per_batch) == (1500, 10)
