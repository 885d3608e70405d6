from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from girl.errors import InputError
from girl.training.batch import make_batch
from girl.training.checkpoint import load_newest
from girl.training.context import Context
from girl.training.loop import DivergedError
from girl.training.run import load_run, pretrain
from tests.helpers.clustered import SMALL, clustered


def test_a_loaded_run_equals_the_saved_one(tmp_path):
    whole = make_batch(clustered(), SMALL.encoder)
    run = pretrain(whole, SMALL, Context(folder=tmp_path / "run"), {"dataset": "mine"})
    again = load_run(tmp_path / "run")
    assert torch.equal(again.embed(whole), run.embed(whole))
    assert again.recipe == run.recipe
    assert again.config["dataset"] == "mine"
    assert again.history.epochs == run.history.epochs


@pytest.mark.parametrize("unit", [True, False])
def test_another_graph_is_embedded_on_the_scale_of_the_first(unit, tmp_path):
    recipe = SMALL.with_values({"unit": unit})
    whole = make_batch(clustered(), recipe.encoder)
    pretrain(whole, recipe, Context(folder=tmp_path))
    run = load_run(tmp_path)
    few = torch.arange(30)
    # What is the features' part, the first twelve columns, does not depend on the other nodes.
    torch.testing.assert_close(run.embed(whole.subgraph(few))[:, :12], run.embed(whole)[few, :12])


def test_pretraining_in_clusters_on_directed_edges_is_finite():
    recipe = SMALL.with_values({"clusters": 4, "batch_size": 2, "directed": True})
    whole = make_batch(clustered(), recipe.encoder)
    assert pretrain(whole, recipe).embed(whole).isfinite().all()


def test_more_clusters_than_pairs_of_nodes_are_refused():
    whole = make_batch(clustered(), SMALL.encoder)
    with pytest.raises(InputError, match="given 61 for 120 nodes, expected at most 60"):
        pretrain(whole, SMALL.with_values({"clusters": 61}))


@pytest.mark.parametrize("save_every", [1, 10])
def test_divergence_leaves_the_last_good_checkpoint(tmp_path, save_every):
    recipe = SMALL.with_values({"lr": 1e18, "epochs": 8, "save_every": save_every})
    whole = make_batch(clustered(), recipe.encoder)
    with pytest.raises(DivergedError, match="Lower the learning rate"):
        pretrain(whole, recipe, Context(folder=tmp_path))
    tensors, _ = load_newest(tmp_path / "checkpoints")
    assert all(bool(torch.isfinite(t).all()) for t in tensors.values() if t.is_floating_point())
    assert not (tmp_path / "model.safetensors").exists()


@pytest.mark.parametrize(
    "values", [{"clusters": 30}, {"dropout": 0.8, "clusters": 10}, {"conv": "gcn", "clusters": 20}]
)
def test_batches_of_equal_nodes_are_skipped(values):
    """A ring of nodes with few features: in a small part, or with most of them hidden, all look the same."""
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(60, 20, generator=generator) < 0.1).float().to_sparse_csr()
    here = torch.arange(60)
    recipe = SMALL.with_values(values)
    whole = make_batch(Data(x=x, edge_index=torch.stack([here, (here + 1) % 60])), recipe.encoder)
    assert pretrain(whole, recipe).embed(whole).isfinite().all()


def test_a_graph_of_equal_nodes_is_refused():
    whole = make_batch(Data(x=torch.ones(12, 3), edge_index=torch.zeros(2, 0, dtype=torch.long)), SMALL.encoder)
    with pytest.raises(DivergedError, match="all nodes look the same"):
        pretrain(whole, SMALL.with_values({"dropout": 0.0}))


def test_a_folder_of_another_graph_is_not_resumed(tmp_path):
    pretrain(make_batch(clustered(), SMALL.encoder), SMALL, Context(folder=tmp_path))
    with pytest.raises(InputError, match="fingerprint"):
        pretrain(make_batch(clustered(seed=1), SMALL.encoder), SMALL, Context(folder=tmp_path))
    with pytest.raises(InputError, match=r"differs in epochs \(4, now 6\)"):
        pretrain(make_batch(clustered(), SMALL.encoder), SMALL.with_values({"epochs": 6}), Context(folder=tmp_path))
    pretrain(make_batch(clustered(), SMALL.encoder), SMALL.with_values({"save_every": 2}), Context(folder=tmp_path))


@pytest.mark.parametrize("setting", [{"strength": -1.0}, {"bandwidth": 0.0}])
def test_numbers_of_the_loss_are_checked_with_the_recipe(setting):
    with pytest.raises(InputError, match=next(iter(setting))):
        SMALL.with_values(setting)


@pytest.mark.parametrize("values", [{}, {"unit": False, "output": "layers", "layers": 2}])
def test_run_vectors_equal_embed(values):
    recipe = SMALL.with_values(values)
    whole = make_batch(clustered(), recipe.encoder)
    run = pretrain(whole, recipe)
    assert torch.equal(run.vectors, run.embed(whole))


def test_three_nodes_can_be_trained():
    data = Data(x=torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), edge_index=torch.tensor([[0], [1]]))
    recipe = SMALL.with_values({"epochs": 40, "hidden": 4})
    whole = make_batch(data, recipe.encoder)
    run = pretrain(whole, recipe)
    assert 0 < len(run.history.epochs) < 40
    assert run.vectors.isfinite().all()
