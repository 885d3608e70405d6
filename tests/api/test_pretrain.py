from __future__ import annotations

import numpy as np
import pytest
import torch

import girl
from girl.errors import InputError
from tests.helpers.clustered import SMALL, clustered

SETTINGS = {"hidden": 8, "epochs": 2, "rank": 16, "target_rank": 8}


def test_a_dataset_by_name_equals_its_data():
    named = girl.pretrain("digits", "default", **SETTINGS)
    data = girl.pretrain(girl.datasets.load("digits").data, "default", **SETTINGS)
    assert torch.equal(named.vectors, data.vectors)
    assert named.config["dataset"] == "digits"


def test_a_list_of_graphs_gets_a_row_for_each():
    run = girl.pretrain([clustered(20, seed=i) for i in range(5)], "graphs", **SETTINGS)
    assert run.vectors.shape[0] == 5


def test_vectors_are_those_of_the_folder_and_of_embed(tmp_path):
    data = girl.datasets.load("digits").data
    run = girl.pretrain("digits", "default", out=tmp_path, **SETTINGS)
    assert np.array_equal(np.load(tmp_path / "embeddings.npy"), run.vectors.numpy())
    assert torch.equal(run.embed(data), run.vectors)


def test_settings_and_recipes_are_checked():
    with pytest.raises(InputError, match="did you mean 'epochs'"):
        girl.pretrain("digits", epoch=3)
    with pytest.raises(InputError, match="given 'dgi' with a recipe of 'girl'"):
        girl.pretrain("digits", SMALL, method="dgi")
