"""Memory that is told before it is taken."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Data

from girl.errors import InputError
from girl.lab.peak_memory import in_fresh_process, peak_bytes, reset_peak, resident_bytes
from girl.training import memory as forecast
from girl.training.batch import make_batch
from girl.training.context import Context
from girl.training.labels import Labels
from girl.training.recipe import method_recipe
from girl.training.run import pretrain
from girl.training.supervised import SupervisedRecipe
from girl.training.supervised_run import train_classifier, untrained_classifier
from girl.training.untrained import untrained_method


def graph(nodes, columns, edges):
    generator = torch.Generator().manual_seed(0)
    return Data(
        x=torch.randn(nodes, columns, generator=generator),
        edge_index=torch.randint(nodes, (2, edges), generator=generator),
    )


def measured(shape, method, values):
    """What was told, and what it took."""
    torch.set_num_threads(1)
    data = graph(*shape)
    if method == "classifier":
        recipe = SupervisedRecipe().with_values(values).resolved()
        whole = make_batch(data, recipe.model.encoder)
        nodes = torch.arange(whole.num_nodes)
        labels = Labels(nodes % 5, nodes[::2], nodes[1::2], 5)
        told = forecast.peak(untrained_classifier(shape[1], labels, recipe), whole, recipe.train)
    else:
        recipe = method_recipe(method).with_values(values)
        whole = make_batch(data, recipe.encoder)
        told = forecast.peak(untrained_method(shape[1], recipe), whole, recipe.train)
    del data
    assert reset_peak()
    before = resident_bytes()
    if method == "classifier":
        train_classifier(whole, labels, recipe)
    else:
        pretrain(whole, recipe)
    return told, peak_bytes() - before


@pytest.mark.parametrize(
    ("shape", "method", "values"),
    [
        ((40_000, 100, 200_000), "girl", {"epochs": 1}),
        ((40_000, 200, 200_000), "girl", {"epochs": 1, "conv": "gcn", "layers": 3, "hidden": 256, "clusters": 8}),
        ((20_000, 100, 200_000), "classifier", {"epochs": 1, "depth": 6}),
        ((20_000, 100, 100_000), "bgrl", {"epochs": 1}),
        ((8_000, 100, 32_000), "graphmae", {"epochs": 1}),
    ],
)
def test_the_forecast_is_near_what_it_takes(shape, method, values):
    told, took = in_fresh_process(measured, shape, method, values)
    assert 0.5 < told / took < 2


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setenv("GIRL_MEMORY", "0.5")
    recipe = method_recipe("girl").with_values({"target_rank": 16, "keep": 0, "hidden": 64, "conv": "gin", "layers": 4})
    whole = make_batch(graph(150_000, 16, 300_000), recipe.encoder)
    return untrained_method(16, recipe), whole, recipe.train


def test_what_does_not_fit_is_refused_with_a_remedy_that_works(large):
    method, whole, settings = large
    with pytest.raises(InputError, match=r"0\.5 GB are free.*--clusters \d+ --batch-size 1") as complaint:
        forecast.check_memory(method, whole, settings)
    clusters = int(str(complaint.value).split("--clusters ")[1].split()[0])
    forecast.check_memory(method, whole, replace(settings, clusters=clusters, batch_size=1))


def test_the_first_process_of_a_run_is_not_started(large, tmp_path):
    _, whole, _ = large
    recipe = method_recipe("girl").with_values({"hidden": 256, "keep": 0})
    with pytest.raises(InputError, match=r"memory: training needs about"):
        pretrain(whole, recipe, Context(folder=tmp_path / "run"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("values", "remedy"),
    [
        ({"target_rank": 16, "hidden": 2048, "clusters": 50}, "--hidden 64"),
        ({"target_rank": 0, "keep": 0, "hidden": 4, "clusters": 50}, "--target-rank 64"),
    ],
)
def test_where_parts_do_not_help_something_else_is_said(monkeypatch, values, remedy):
    monkeypatch.setenv("GIRL_MEMORY", "0.1")
    recipe = method_recipe("girl").with_values(values)
    whole = make_batch(graph(60_000, 300, 100), recipe.encoder)
    with pytest.raises(InputError, match=remedy):
        forecast.check_memory(untrained_method(300, recipe), whole, recipe.train)


def test_more_memory_may_be_claimed_and_nonsense_not(large, monkeypatch):
    monkeypatch.setenv("GIRL_MEMORY", "99")
    forecast.check_memory(*large)
    monkeypatch.setenv("GIRL_MEMORY", "lots")
    with pytest.raises(InputError, match="GIRL_MEMORY: given 'lots'"):
        forecast.check_memory(*large)


def test_what_is_free_is_what_the_system_says(monkeypatch):
    monkeypatch.delenv("GIRL_MEMORY", raising=False)
    assert 1e7 < forecast.available(torch.device("cpu")) < 1e14
