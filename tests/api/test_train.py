from __future__ import annotations

import json

import pytest
import torch

import girl
from girl.errors import InputError

SETTINGS = {"depth": 2, "hidden": 8, "epochs": 3}


def test_scores_are_those_of_the_predictions(tmp_path):
    run = girl.train("digits", out=tmp_path, **SETTINGS)
    dataset = girl.datasets.load("digits")
    split = girl.splits.get(run.config["protocol"]).split(dataset, 0)
    predicted = run.predict(dataset.data).argmax(1)
    for part in ("train", "val", "test"):
        nodes = getattr(split, part)
        assert run.scores[part] == pytest.approx(float((predicted == dataset.data.y)[nodes].double().mean()))
    assert json.loads((tmp_path / "scores.json").read_text()) == run.scores


def test_another_split_trains_on_other_nodes():
    first, other = (girl.train("digits", split=split, **SETTINGS).predict for split in (0, 1))
    data = girl.datasets.load("digits").data
    assert not torch.equal(first(data), other(data))


def test_an_unknown_setting_is_named():
    with pytest.raises(InputError, match="did you mean 'depth'"):
        girl.train("digits", deepth=3)
