from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from girl.errors import InputError
from girl.training.batch import induced_batch, make_batch
from girl.training.checkpoint import load_newest
from girl.training.context import Context, select_device
from girl.training.loop import DivergedError
from girl.training.recipe import Recipe
from girl.training.run import load_run, pretrain
from girl.training.run_folder import save_embedding
from girl.training.untrained import embed_untrained, embed_without_weights, resolve_recipe

SMALL = Recipe().with_values({"hidden": 16, "rank": 16, "target_rank": 8, "epochs": 4})


def clustered(n=120, seed=0):
    """Neighbours share a group, and features speak of it."""
    generator = torch.Generator().manual_seed(seed)
    group = torch.arange(n) % 4
    pairs = torch.randint(n, (2, 8 * n), generator=generator)
    pairs = pairs[:, group[pairs[0]] == group[pairs[1]]]
    noise = torch.randn(n, 12, generator=generator)
    return Data(x=noise + 2 * torch.eye(12)[group], edge_index=pairs, y=group)


def test_a_run_is_loaded_as_it_was_saved(tmp_path):
    whole = make_batch(clustered(), SMALL.encoder)
    run = pretrain(whole, SMALL, Context(folder=tmp_path / "run"), {"dataset": "mine"})
    again = load_run(tmp_path / "run")
    assert torch.equal(again.embed(whole), run.embed(whole))
    assert again.recipe == run.recipe
    assert again.config["dataset"] == "mine"
    assert again.history.epochs == run.history.epochs


def test_a_missing_interrupted_or_damaged_run_is_named(tmp_path):
    with pytest.raises(InputError, match="girl pretrain"):
        load_run(tmp_path / "none")
    whole = make_batch(clustered(), SMALL.encoder)
    pretrain(whole, SMALL, Context(folder=tmp_path / "run"))
    model = tmp_path / "run" / "model.safetensors"
    model.write_bytes(model.read_bytes()[:50])
    with pytest.raises(InputError, match="damaged"):
        load_run(tmp_path / "run")
    model.unlink()
    with pytest.raises(InputError, match="interrupted"):
        load_run(tmp_path / "run")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": None}, "no node features"),
        ({"x": torch.full((120, 3), torch.nan)}, "NaN"),
        ({"x": torch.ones(5, 3)}, "0 to 4"),
        ({"edge_index": torch.tensor([[-1], [3]])}, "given node -1, expected 0 to 119"),
        ({"edge_index": None}, "no edges"),
    ],
)
def test_a_graph_that_cannot_be_used_is_refused(change, words):
    data = clustered()
    for name, value in change.items():
        data[name] = value
    with pytest.raises(InputError, match=words):
        make_batch(data, SMALL.encoder)


def test_ids_are_not_kept():
    data = clustered()
    assert resolve_recipe(SMALL, make_batch(data, SMALL.encoder)) is SMALL
    data.x = torch.eye(120).to_sparse_csr()
    whole = make_batch(data, SMALL.encoder)
    assert resolve_recipe(SMALL, whole).encoder.keep == 0
    assert pretrain(whole, SMALL).embed(whole).shape == embed_untrained(whole, SMALL).shape == (120, 16)


@pytest.mark.parametrize("unit", [True, False])
def test_another_graph_is_embedded_on_the_scale_of_the_first(unit, tmp_path):
    recipe = SMALL.with_values({"unit": unit})
    whole = make_batch(clustered(), recipe.encoder)
    pretrain(whole, recipe, Context(folder=tmp_path))
    run = load_run(tmp_path)
    few = torch.arange(30)
    # What is the features' part, the first twelve columns, does not depend on the other nodes.
    torch.testing.assert_close(run.embed(whole.subgraph(few))[:, :12], run.embed(whole)[few, :12])


def test_pretraining_in_clusters_and_on_directed_edges():
    recipe = SMALL.with_values({"clusters": 4, "batch_size": 2, "directed": True})
    whole = make_batch(clustered(), recipe.encoder)
    assert pretrain(whole, recipe).embed(whole).isfinite().all()


def test_more_clusters_than_pairs_of_nodes_are_refused():
    whole = make_batch(clustered(), SMALL.encoder)
    with pytest.raises(InputError, match="given 61 for 120 nodes, expected at most 60"):
        pretrain(whole, SMALL.with_values({"clusters": 61}))


def test_an_embedding_is_an_array_on_disk(tmp_path):
    h = torch.randn(5, 3)
    save_embedding(tmp_path / "h.npy", h)
    assert np.array_equal(np.load(tmp_path / "h.npy"), h.numpy())
    assert [path.name for path in tmp_path.iterdir()] == ["h.npy"]


def test_a_device_that_is_not_there_is_named():
    assert select_device("cpu").type == "cpu"
    with pytest.raises(InputError, match="device"):
        select_device("cuda:7" if not torch.cuda.is_available() else "nonsense")


def test_weights_of_edges_are_used_and_must_be_positive():
    data = clustered()
    plain = pretrain(make_batch(data, SMALL.encoder), SMALL)
    data.edge_weight = torch.rand(data.edge_index.shape[1]) + 0.5
    weighted = make_batch(data, SMALL.encoder)
    assert not torch.allclose(plain.embed(weighted), plain.embed(make_batch(clustered(), SMALL.encoder)))
    data.edge_weight[7] = 0
    with pytest.raises(InputError, match="edge_weight: edge 7 has weight 0"):
        make_batch(data, SMALL.encoder)


@pytest.mark.parametrize("save_every", [1, 10])
def test_a_rate_far_too_high_stops_before_anything_bad_is_kept(tmp_path, save_every):
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
def test_batches_whose_nodes_are_alike_are_passed_over(values):
    """A ring of nodes with few features: in a small part, or with most of them hidden, all look the same."""
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(60, 20, generator=generator) < 0.1).float().to_sparse_csr()
    here = torch.arange(60)
    recipe = SMALL.with_values(values)
    whole = make_batch(Data(x=x, edge_index=torch.stack([here, (here + 1) % 60])), recipe.encoder)
    assert pretrain(whole, recipe).embed(whole).isfinite().all()


def test_a_graph_whose_nodes_are_all_alike_is_refused():
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


def test_no_epochs_on_a_part_is_the_control_of_that_part():
    recipe = SMALL.with_values({"epochs": 0})
    whole = make_batch(clustered(), recipe.encoder)
    part = induced_batch(whole, torch.arange(50))
    assert torch.equal(pretrain(part, recipe).embed(whole), embed_untrained(whole, recipe, part))
    assert not torch.equal(embed_untrained(whole, recipe, part), embed_untrained(whole, recipe))


@pytest.mark.parametrize("setting", [{"strength": -1.0}, {"bandwidth": 0.0}])
def test_numbers_of_the_loss_are_checked_with_the_recipe(setting):
    with pytest.raises(InputError, match=next(iter(setting))):
        SMALL.with_values(setting)


@pytest.mark.parametrize("conv", ["appnp", "gcn", "mlp", "sgc"])
def test_without_weights_the_encoder_only_smooths(conv):
    recipe = SMALL.with_values({"conv": conv, "keep": 0.0, "unit": False, "normalize": "none"})
    whole = make_batch(clustered(), recipe.encoder)
    operators = {
        "appnp": lambda x: whole.graph.propagate(x, 0.1, 10),
        "gcn": lambda x: whole.graph.gcn @ x,
        "mlp": lambda x: x,
        "sgc": lambda x: nth(whole.graph.gcn, 10, x),
    }
    smoothed = operators[conv](clustered().x)
    found = embed_without_weights(whole, recipe)
    torch.testing.assert_close(found / found.norm(), smoothed / smoothed.norm(), rtol=1e-4, atol=1e-6)


def nth(operator, times, x):
    for _ in range(times):
        x = operator @ x
    return x


def test_without_weights_wide_features_go_in_by_their_principal_components(monkeypatch):
    monkeypatch.setattr("girl.training.untrained.MAX_COLUMNS", 8)
    whole = make_batch(clustered(), SMALL.encoder)
    narrow = SMALL.with_values({"hidden": 6})
    assert embed_without_weights(whole, narrow).shape == (120, 12)


@pytest.mark.parametrize("values", [{}, {"unit": False, "output": "layers", "layers": 2}])
def test_what_training_ends_with_is_the_embedding(values):
    recipe = SMALL.with_values(values)
    whole = make_batch(clustered(), recipe.encoder)
    run = pretrain(whole, recipe)
    assert torch.equal(run.vectors, run.embed(whole))


def test_a_graph_of_three_nodes_is_trained_though_all_is_hidden_at_times():
    data = Data(x=torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), edge_index=torch.tensor([[0], [1]]))
    recipe = SMALL.with_values({"epochs": 40, "hidden": 4})
    whole = make_batch(data, recipe.encoder)
    run = pretrain(whole, recipe)
    assert 0 < len(run.history.epochs) < 40
    assert run.vectors.isfinite().all()
