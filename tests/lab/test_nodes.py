from __future__ import annotations

import pytest

from girl.lab.cells import Cell
from girl.lab.comparison import GIRLS_ENCODER
from girl.lab.nodes import METHODS, Nodes
from girl.training.recipe import Recipe

SMALL = {"hidden": 16, "rank": 16, "target_rank": 8, "epochs": 2}


def test_an_untrained_baseline_has_the_recipe_of_what_it_is_compared_with():
    recipes = Nodes().recipes("cora", 1)
    assert set(METHODS) <= set(recipes)
    for method, baseline in (("girl", "untrained"), ("girl", "own"), ("encoder", "encoder untrained")):
        assert recipes[method] == recipes[baseline]
    assert recipes["released-1024"] == recipes["released-1024 untrained"] != recipes["encoder"]
    assert recipes["raw"] is None


@pytest.mark.slow
@pytest.mark.parametrize("method", ["raw", "ppr", "own", "untrained", "girl"])
def test_a_cell_is_computed_on_real_data_and_again_the_same(method, mirror, cache):
    recipe = None if method in ("raw", "ppr") else Recipe.encoder_default().with_values(SMALL).with_seed(1).to_dict()
    cell, nodes = Cell("texas", method, 1, recipe), Nodes(data_root=cache, mirror=mirror)
    result = nodes.compute(cell)
    (row,) = result["rows"]
    assert (row["protocol"], row["metric"], result["stand_in"]) == ("geom-gcn", "accuracy", False)
    assert 0.4 < row["test"] <= 1
    assert ("loss" in result) == (method == "girl")
    assert nodes.compute(cell)["rows"][0]["test"] == row["test"]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["cca-ssg", *[peer + GIRLS_ENCODER for peer in Nodes().peers]])
def test_a_cell_of_another_method(method, mirror, cache):
    nodes = Nodes(data_root=cache, mirror=mirror)
    recipe = nodes.recipe(method, "texas").with_values({"hidden": 16, "epochs": 2})
    result = nodes.compute(Cell("texas", method, 0, recipe.to_dict()))
    assert 0.3 < result["rows"][0]["test"] <= 1
    assert result["epochs"] == 2
    assert result["train_gb"] >= 0
