from __future__ import annotations

import pytest
import torch

from girl import datasets, splits
from girl.evaluation.controls import CONTROLS
from girl.graph.hidden import TARGETS
from girl.lab import judge
from girl.lab.cells import Cell
from girl.lab.default import DEFAULT_PROTOCOLS
from girl.lab.judge import KINDS, MAX_SPLITS, Judge, kind_of, representations, validation_splits
from girl.training.loop import DivergedError


@pytest.mark.parametrize("dataset", list(DEFAULT_PROTOCOLS))
def test_every_graph_has_at_least_twenty_representations_of_several_kinds(dataset):
    names = list(representations(dataset))
    assert len(names) >= 20
    assert {kind_of(name) for name in names} == set(KINDS)


def test_features_that_only_name_nodes_are_in_no_control_or_band():
    for name, recipe in representations("usa-airports").items():
        assert name not in set(CONTROLS) - {"positions"}
        if recipe is not None and recipe.name == "bands" and name != "default":
            assert set(recipe.method.bands) <= {"positions", "roles"}


def test_a_cell_has_raw_shares_beside_validation_scores(monkeypatch):
    monkeypatch.setattr(judge, "MAX_SPLITS", 1)
    done = Judge(rows=200).compute(Cell("digits", "ppr", 0))
    assert set(done["explained"]) == set(done["stderr"]) == set(TARGETS)
    assert [row["protocol"] for row in done["rows"]] == list(DEFAULT_PROTOCOLS["digits"])
    assert all(0.9 < row["val"] < 1 for row in done["rows"])
    assert done["kind"] == "control"


def test_a_training_that_fails_is_recorded_without_a_score(monkeypatch):
    def diverge(cell, batch):
        raise DivergedError("the loss is not finite")

    monkeypatch.setattr(judge, "embed", diverge)
    done = Judge(rows=100).compute(Cell("digits", "girl, 5 epochs", 0, representations("digits")["default"].to_dict()))
    assert done["failure"] == "the loss is not finite"
    assert done["rows"] == []


def test_seeds_have_other_splits_and_none_has_a_test_node():
    digits = datasets.load("digits")
    drawn = [validation_splits(digits, "random-10-10-80", 2000, seed) for seed in (0, 1)]
    keys = {tuple(split.train.tolist()) for part in drawn for split in part}
    assert [len(part) for part in drawn] == [MAX_SPLITS, MAX_SPLITS]
    assert len(keys) == 2 * MAX_SPLITS
    for index, split in enumerate(drawn[0]):
        test = splits.get("random-10-10-80").split(digits, index).test
        assert not torch.isin(torch.cat([split.train, split.val]), test).any()


def test_options_select_cells():
    chosen = Judge(datasets=("digits",), methods=("raw", "default")).cells()
    assert [cell.method for cell in chosen] == ["raw", "default"]
    assert chosen[0].recipe is None
