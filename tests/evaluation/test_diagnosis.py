from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from girl import datasets, splits
from girl.errors import InputError
from girl.evaluation.diagnosis import diagnose_run
from girl.nn.diagnosis import unexplained_fractions
from girl.training.batch import make_batch
from girl.training.context import Context
from girl.training.recipe import Recipe
from girl.training.run import pretrain

RECIPE = Recipe.encoder_default().with_values({"hidden": 8, "layers": 2, "epochs": 1})


def test_a_run_is_measured_at_the_features_and_at_every_layer(tmp_path):
    dataset = datasets.load("digits")
    batch = make_batch(dataset.data, RECIPE.encoder)
    config = {"dataset": "digits", "protocol": "random-10-10-80", "split": 1}
    run = pretrain(batch, RECIPE, Context(folder=tmp_path), config)
    diagnosis = diagnose_run(tmp_path, "val")
    nodes = splits.get("random-10-10-80").split(dataset, 1).val
    assert diagnosis.layers[1:] == pytest.approx(
        unexplained_fractions(run.method.iter_layers(batch), dataset.data.y, nodes)
    )
    assert len(diagnosis.layers) == 3
    assert 0 < diagnosis.layers[0] < 1
    assert diagnosis.title.startswith("digits: GIRL")
    assert diagnosis.trace == []


def test_a_run_of_a_users_graph_has_no_labels(tmp_path):
    x = torch.randn(20, 4, generator=torch.Generator().manual_seed(0))
    pretrain(
        make_batch(Data(x=x, edge_index=torch.arange(20).view(2, 10)), RECIPE.encoder), RECIPE, Context(folder=tmp_path)
    )
    with pytest.raises(InputError, match="not a named dataset"):
        diagnose_run(tmp_path, "test")
