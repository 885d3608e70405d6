from __future__ import annotations

import json

import pytest

from girl.errors import InputError
from girl.lab import graphs
from girl.lab.cells import Cell
from girl.lab.peers import SAME


def test_cells_cover_the_table():
    rows = [*graphs.METHODS, *graphs.peers()]
    assert {"infograph", "graphcl", "joao", "joaov2", "simgrace", "graphmae"} == set(graphs.peers())
    made = graphs.cells(graphs.DATASETS, rows, 2)
    assert len({cell.key for cell in made}) == len(made) == 4 * len(rows) * 2
    untrained, girl = (next(c for c in made if c.method == m) for m in ("untrained", "girl"))
    assert untrained.recipe == girl.recipe
    for wrong in ((["mutga"], ["girl"]), (["mutag"], ["dgi"])):
        with pytest.raises(InputError, match="expected one of"):
            graphs.cells(*wrong, 1)


@pytest.mark.parametrize("method", ["bag of nodes", "untrained", "girl", *[peer + SAME for peer in graphs.peers()]])
def test_a_cell_on_real_data(method, mirror, cache):
    recipe = graphs.recipe_of(method, "mutag")
    if recipe is not None:
        recipe = recipe.with_values({"hidden": 8, "epochs": 2}).to_dict()
    compute = graphs.Compute(cache, mirror)
    found = compute(Cell("mutag", method, 1, recipe))
    (row,) = found["rows"]
    assert (row["protocol"], row["probe"], row["metric"]) == ("10-fold", "svm", "accuracy")
    assert len(row["folds"]) == 10
    assert row["test"] == pytest.approx(sum(row["folds"]) / 10, abs=1e-6)
    assert 0.6 < row["test"] < 1
    assert ("loss" in found) == (method not in ("bag of nodes", "untrained"))


def test_the_command_goes_on_where_it_was(girl):
    call = ["reproduce", "graphs", "--datasets", "mutag", "--methods", "bag of nodes", "--seeds", "1"]
    first = girl(*call)
    assert first.returncode == 0, first.stderr
    assert len(json.loads((girl.folder / "results/graphs/mutag.json").read_text())["cells"]) == 1
    assert "every cell is there already" in girl(*call).stdout
