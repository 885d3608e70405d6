from __future__ import annotations

import pytest

from girl.errors import InputError
from girl.lab import ablation, nodes, objective
from girl.lab.cells import Cell
from girl.lab.peers import SAME, both
from girl.methods.registry import find_method
from girl.training.recipe import Recipe

SMALL = {"hidden": 16, "rank": 16, "target_rank": 8, "epochs": 2}


def test_cells_cover_the_table_seed_by_seed():
    made = nodes.cells(["cora", "texas"], nodes.METHODS, 2)
    assert len(made) == 2 * 2 * len(nodes.METHODS)
    assert [cell.seed for cell in made] == sorted(cell.seed for cell in made)
    assert len({cell.key for cell in made}) == len(made)
    untrained, girl = (next(c for c in made if c.method == m and c.dataset == "cora") for m in ("untrained", "girl"))
    assert untrained.recipe == girl.recipe  # the control is the same encoder


def test_the_ablation_covers_kinds_depths_and_both_states():
    made = ablation.cells(ablation.DATASETS, 1)
    assert len(made) == 4 * 4 * 5 * 2
    assert {cell.recipe["encoder"]["layers"] for cell in made} == {1, 2, 3, 4, 5}


def test_every_variant_of_the_objective_differs_from_the_default_in_its_own_way():
    made = objective.cells(["cora"], 1)
    recipes = {cell.method: cell.recipe for cell in made}
    assert list(recipes) == list(objective.VARIANTS)
    assert recipes["default"] == recipes["untrained"] == Recipe().to_dict()
    assert recipes["in-sample residuals"]["method"]["residual"] == "insample"
    changed = [str(recipe) for name, recipe in recipes.items() if name != "untrained"]
    assert len(set(changed)) == len(changed)
    with pytest.raises(InputError, match="expected one of"):
        objective.cells(["coar"], 1)


@pytest.mark.parametrize("wrong", [(["coar"], ["raw"]), (["cora"], ["gril"])])
def test_unknown_names_are_refused(wrong):
    with pytest.raises(InputError, match="expected one of"):
        nodes.cells(*wrong, 1)


@pytest.mark.parametrize("method", ["raw", "ppr", "own", "untrained", "girl"])
def test_a_cell_on_real_data(method, mirror, cache):
    recipe = None if method in ("raw", "ppr") else Recipe().with_values(SMALL).with_seed(1).to_dict()
    compute = nodes.Compute(cache, mirror)
    cell = Cell("texas", method, 1, recipe)
    found = compute(cell)
    (row,) = found["rows"]
    assert (row["protocol"], row["metric"], found["stand_in"]) == ("geom-gcn", "accuracy", False)
    assert 0.4 < row["test"] <= 1
    assert ("loss" in found) == (method == "girl")
    assert compute(cell)["rows"][0]["test"] == row["test"]


def test_every_method_has_the_same_time():
    assert {"dgi", "grace", "bgrl", "bgcl", "graphmae", "selene"} <= set(nodes.peers())
    assert "graphcl" not in nodes.peers()
    for cell in nodes.cells(["cora", "actor"], nodes.peers(), 1):
        assert cell.recipe["train"]["time_limit"] == nodes.BUDGET
        assert cell.recipe["method"]["name"] == cell.method
    for cell in nodes.cells(["cora", "actor"], both(nodes.peers()), 1):
        assert cell.recipe["train"]["time_limit"] == nodes.BUDGET
        if cell.method.endswith(SAME) and not find_method(cell.method.removesuffix(SAME)).required_encoder:
            assert cell.recipe["encoder"] == nodes.recipe_of("girl", cell.dataset).to_dict()["encoder"]


@pytest.mark.parametrize("method", ["cca-ssg", *[peer + SAME for peer in nodes.peers()]])
def test_a_cell_of_another_method(method, mirror, cache):
    recipe = nodes.recipe_of(method, "texas").with_values({"hidden": 16, "epochs": 2})
    found = nodes.Compute(cache, mirror)(Cell("texas", method, 0, recipe.to_dict()))
    assert 0.3 < found["rows"][0]["test"] <= 1
    assert found["epochs"] == 2
    assert found["train_gb"] >= 0
