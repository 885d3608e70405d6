from __future__ import annotations

import pytest

from girl.lab.cells import Cell
from girl.lab.default_graphs import METHODS, DefaultGraphs
from girl.training.recipe import Recipe


def test_every_method_has_a_cell_and_only_the_default_is_the_default():
    recipes = DefaultGraphs().recipes("mutag", 3)
    assert tuple(recipes) == METHODS
    assert recipes["default"] == Recipe.graphs_default().with_seed(3)


@pytest.mark.slow
def test_cells_have_scores_on_the_same_ten_folds(mirror, cache):
    experiment = DefaultGraphs(data_root=cache, mirror=mirror)
    recipes = experiment.recipes("mutag", 1)
    made = {
        name: experiment.compute(Cell("mutag", name, 1, None if recipes[name] is None else recipes[name].to_dict()))
        for name in METHODS
    }
    assert all(len(done["rows"][0]["folds"]) == 10 for done in made.values())
    assert made["default"]["choices"]["unit"] == "graph"
    assert made["default"]["rows"][0]["test"] > made["bag of nodes"]["rows"][0]["test"]
