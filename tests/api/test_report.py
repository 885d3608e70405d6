from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from girl import datasets
from girl.api.report import report
from girl.errors import InputError
from girl.training.batch import make_batch
from girl.training.context import Context
from girl.training.recipe import Recipe, method_recipe
from girl.training.run import pretrain
from girl.training.run_folder import save_embedding

RECIPE = Recipe.encoder_default().with_values({"hidden": 8, "epochs": 1})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    batch = make_batch(datasets.load("digits").data, RECIPE.encoder)
    return pretrain(batch, RECIPE, Context(folder=tmp_path_factory.mktemp("run")), {"dataset": "digits"})


def test_damaged_embeddings_of_a_dataset_are_computed_again(run, tmp_path):
    folder = run.folder
    save_embedding(folder / "embeddings.npy", run.vectors)
    saved = report(folder).read_text(encoding="utf-8")
    assert "digits" in saved
    (folder / "embeddings.npy").write_bytes(b"damaged")
    path = report(folder, out=tmp_path / "again.html")
    assert path == tmp_path / "again.html"
    assert path.read_text(encoding="utf-8") == saved


def test_a_run_without_a_named_dataset_or_of_another_method_is_refused(tmp_path):
    data = Data(x=torch.randn(20, 4), edge_index=torch.arange(20).view(2, 10))
    pretrain(make_batch(data, RECIPE.encoder), RECIPE, Context(folder=tmp_path / "data"))
    with pytest.raises(InputError, match="not the data it was trained on"):
        report(tmp_path / "data")
    recipe = method_recipe("dgi").with_values({"hidden": 8, "epochs": 1})
    batch = make_batch(datasets.load("digits").data, recipe.encoder)
    pretrain(batch, recipe, Context(folder=tmp_path / "dgi"), {"dataset": "digits"})
    with pytest.raises(InputError, match="given a run of dgi, expected one of GIRL"):
        report(tmp_path / "dgi")
