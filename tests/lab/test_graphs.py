from __future__ import annotations

import pytest

from girl.lab.cells import Cell
from girl.lab.comparison import GIRLS_ENCODER
from girl.lab.graphs import METHODS, Graphs


def test_the_untrained_baseline_has_girls_recipe():
    recipes = Graphs().recipes("mutag", 3)
    assert set(METHODS) <= set(recipes)
    assert recipes["untrained"] == recipes["girl"]
    assert recipes["bag of nodes"] is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", ["bag of nodes", "untrained", "girl", *[peer + GIRLS_ENCODER for peer in Graphs().peers]]
)
def test_a_cell_on_real_data_is_the_mean_over_ten_folds(method, mirror, cache):
    graphs = Graphs(data_root=cache, mirror=mirror)
    recipe = graphs.recipe(method, "mutag")
    if recipe is not None:
        recipe = recipe.with_values({"hidden": 8, "epochs": 2}).to_dict()
    result = graphs.compute(Cell("mutag", method, 1, recipe))
    (row,) = result["rows"]
    assert (row["protocol"], row["probe"], row["metric"]) == ("10-fold", "svm", "accuracy")
    assert len(row["folds"]) == 10
    assert row["test"] == pytest.approx(sum(row["folds"]) / 10, abs=1e-6)
    assert 0.6 < row["test"] < 1
    assert ("loss" in result) == (method not in ("bag of nodes", "untrained"))
