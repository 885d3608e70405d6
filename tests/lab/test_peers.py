"""Other methods with either encoder."""

from __future__ import annotations

import pytest
from rich.console import Console

from girl.lab.cells import Cell, Results, run_cells
from girl.lab.peers import as_chosen, both, chosen, peer_recipe, run_peers
from girl.training.recipe import method_recipe


def row(method, seed, val, dataset="cora"):
    return {"dataset": dataset, "method": method, "seed": seed, "rows": [{"protocol": "public", "val": val}]}


def test_the_encoder_that_validates_better_on_the_first_seed_is_chosen():
    rows = [row("dgi", 0, 0.7), row("dgi same", 0, 0.8), row("dgi", 1, 0.9), row("girl", 0, 0.6)]
    assert chosen(rows, "cora", "dgi") == "dgi same"
    assert chosen(rows[:1], "cora", "dgi") is None
    assert chosen(rows, "texas", "dgi") is None
    found = as_chosen([*rows, row("dgi same", 1, 0.5), row("dgi", 0, 0.5, "texas")], ["dgi"])
    told = [(one["dataset"], one["method"], one["seed"], one.get("encoder")) for one in found]
    assert told == [("cora", "dgi", 0, "GIRL's"), ("cora", "girl", 0, None), ("cora", "dgi", 1, "GIRL's")]


def test_nothing_but_the_encoder_differs():
    own, same = (peer_recipe(name, "cora", 7.0).to_dict() for name in both(["grace"]))
    assert own["train"] == same["train"]
    assert own["train"]["time_limit"] == 7
    assert own["method"] == same["method"]
    assert same["encoder"] == method_recipe("girl", "cora").to_dict()["encoder"] != own["encoder"]


@pytest.mark.parametrize("better", ["", " same"])
def test_both_on_the_first_seed_and_the_chosen_on_the_others(tmp_path, better):
    results, computed = Results(tmp_path), []

    def compute(cell):
        computed.append((cell.method, cell.seed))
        val = 0.8 if cell.method == f"dgi{better}" else 0.7
        return {"seconds": 0, "rows": [{"protocol": "public", "probe": "linear", "val": val}]}

    def cells(names, methods, seeds):
        return [Cell(name, method, seed) for seed in range(seeds) for name in names for method in methods]

    def run(made):
        run_cells(made, compute, results, 1, Console(quiet=True))

    for _ in range(2):  # the second finds everything there
        run_peers(["cora"], ["dgi"], 3, results, cells, run)
    assert computed == [("dgi", 0), ("dgi same", 0), (f"dgi{better}", 1), (f"dgi{better}", 2)]
