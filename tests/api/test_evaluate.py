from __future__ import annotations

import json

import pytest
import torch

import girl
from girl.errors import InputError
from tests.helpers.clustered import SMALL, clustered

SETTINGS = {"hidden": 8, "epochs": 2, "rank": 16, "target_rank": 8}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    girl.pretrain("digits", "default", out=folder, **SETTINGS)
    return folder


def test_a_run_stands_beside_its_baselines(folder):
    evaluation = girl.evaluate(folder, splits=2)
    names = [row.representation for row in evaluation.rows]
    assert names[0] == "raw"
    assert names[-2:] == ["untrained encoder", "GIRL"]
    assert json.loads((folder / "scores.json").read_text())["splits"] == [0, 1]
    lines = str(evaluation).splitlines()
    assert lines[0] == "digits, random-60-20-20, linear probe, 2 splits: test accuracy"
    assert len(lines) == 1 + len(names)


def test_scores_do_not_depend_on_whether_the_run_is_in_memory(folder):
    run = girl.pretrain("digits", "default", **SETTINGS)
    scores = [girl.evaluate(each, splits=1).rows[-1].test.mean for each in (run, folder)]
    assert scores[0] == scores[1]


def test_a_run_on_other_data_is_refused(folder):
    with pytest.raises(InputError, match="not a named dataset"):
        girl.evaluate(girl.pretrain(clustered(), SMALL))
    with pytest.raises(InputError, match="splits: given 0"):
        girl.evaluate(folder, splits=0)


def test_embeddings_that_hold_the_label_are_read_perfectly(folder):
    run = girl.pretrain("digits", "default", **SETTINGS)
    y = girl.datasets.load("digits").data.y
    run.method.embed = lambda batch: torch.nn.functional.one_hot(y).float()
    assert girl.evaluate(run, splits=1).rows[-1].test.mean == 1.0
