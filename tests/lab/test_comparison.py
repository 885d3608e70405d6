from __future__ import annotations

from dataclasses import dataclass

import pytest
from rich.console import Console

from girl.errors import InputError
from girl.lab.comparison import GIRLS_ENCODER, both_encoders, chosen_encoder, peer_recipe, with_chosen_encoder
from girl.lab.graphs import Graphs
from girl.lab.nodes import Nodes
from girl.methods.registry import find_method
from girl.training.recipe import method_recipe


def result(method, seed, val, dataset="cora"):
    return {"dataset": dataset, "method": method, "seed": seed, "rows": [{"protocol": "public", "val": val}]}


def test_the_encoder_with_the_higher_validation_score_on_the_first_seed_is_chosen():
    results = [result("dgi", 0, 0.7), result("dgi same", 0, 0.8), result("dgi", 1, 0.9), result("girl", 0, 0.6)]
    assert chosen_encoder(results, "cora", "dgi") == "dgi same"
    assert chosen_encoder(results[:1], "cora", "dgi") is None
    assert chosen_encoder(results, "texas", "dgi") is None
    renamed = with_chosen_encoder([*results, result("dgi same", 1, 0.5), result("dgi", 0, 0.5, "texas")], ["dgi"])
    rows = [(one["dataset"], one["method"], one["seed"], one.get("encoder")) for one in renamed]
    assert rows == [("cora", "dgi", 0, "GIRL's"), ("cora", "girl", 0, None), ("cora", "dgi", 1, "GIRL's")]


def test_nothing_but_the_encoder_differs():
    own, girls = (peer_recipe(name, "cora", 7.0).to_dict() for name in both_encoders(["grace"]))
    assert own["train"] == girls["train"]
    assert own["train"]["time_limit"] == 7
    assert own["method"] == girls["method"]
    assert girls["encoder"] == method_recipe("girl", "cora").to_dict()["encoder"] != own["encoder"]


@pytest.mark.parametrize("comparison", [Nodes(), Graphs()], ids=lambda one: one.name)
def test_every_peer_has_the_same_time_and_girls_encoder_once(comparison):
    dataset = comparison.compared[0][0]
    girl = comparison.recipe("girl", dataset).to_dict()
    for method in both_encoders(comparison.peers):
        name = method.removesuffix(GIRLS_ENCODER)
        recipe = comparison.recipe(method, dataset).to_dict()
        assert recipe["train"]["time_limit"] == comparison.time_limit
        assert recipe["method"]["name"] == name
        if method != name and not find_method(name).required_encoder:
            assert recipe["encoder"] == girl["encoder"]


def test_methods_take_part_at_their_level():
    assert {"dgi", "grace", "bgrl", "bgcl", "graphmae", "selene"} <= set(Nodes().peers)
    assert set(Graphs().peers) == {"infograph", "graphcl", "joao", "joaov2", "simgrace", "graphmae"}


def test_options_select_methods():
    assert {cell.method for cell in Nodes(methods=("raw", "dgi"), datasets=("cora",)).cells()} == {
        "raw",
        "dgi",
        "dgi same",
    }
    every = {cell.method for cell in Nodes(methods=("all",), datasets=("cora",)).cells()}
    assert every == {*Nodes.own_methods, *both_encoders(Nodes().peers)}
    with pytest.raises(InputError, match="given 'gril', expected one of raw"):
        Nodes(methods=("gril",)).checked()


COMPUTED = []


@dataclass(frozen=True, kw_only=True)
class Quick(Nodes):
    """Computes nothing."""

    better: str = ""

    def compute(self, cell):
        COMPUTED.append((cell.method, cell.seed))
        val = 0.8 if cell.method == f"dgi{self.better}" else 0.7
        return {"rows": [{"protocol": "public", "probe": "linear", "val": val, "test": val}]}


@pytest.mark.parametrize("better", ["", " same"])
def test_both_encoders_on_the_first_seed_and_the_chosen_one_on_the_others(tmp_path, better):
    COMPUTED.clear()
    quick = Quick(better=better, methods=("dgi", "girl"), datasets=("cora",), seeds=3)
    for _ in range(2):  # the second time finds all results
        quick.run(tmp_path, 1, Console(quiet=True))
    peers = [("dgi", 0), ("dgi same", 0), (f"dgi{better}", 1), (f"dgi{better}", 2)]
    assert COMPUTED == [("girl", 0), ("girl", 1), ("girl", 2), *peers]
    scores = quick.scores(tmp_path)
    assert scores.rows == [("cora", "public")]
    assert scores.by_seed("cora", "public", "dgi") == {0: 0.8, 1: 0.8, 2: 0.8}
