from __future__ import annotations

from dataclasses import dataclass, fields

import pytest
import torch
from docstring_parser import parse_from_object

from girl.errors import InputError
from girl.methods import EncoderMethod, EncoderSettings, MethodEntry, names, register, registry
from girl.methods.registry import find_method, method_of, methods
from girl.training.context import Context
from girl.training.loop import fit
from girl.training.recipe import Recipe, method_recipe
from girl.training.run import load_run, pretrain
from girl.training.state import TrainSettings
from girl.training.untrained import embed_untrained, untrained_method

NAMES = [name for name, entry in methods().items() if entry.level != "graphs" and name != "bands"]
SET_NAMES = [name for name, entry in methods().items() if entry.level != "nodes" and name != "graph-bands"]


def small(name, **train):
    """The published recipe, with a narrow encoder and few epochs."""
    recipe = method_recipe(name).with_values({"encoder": {"hidden": 16}, "train": {"epochs": 3, "warmup": 0, **train}})
    return recipe.with_values({"rank": 16, "target_rank": 8}) if name == "girl" else recipe


@pytest.mark.parametrize("name", NAMES)
def test_every_method_learns_and_embeds(name, data, tmp_path):
    recipe = small(name)
    run = pretrain(data, recipe, Context(folder=tmp_path / "run"))
    assert run.vectors.shape == (data.num_nodes, run.method.width)
    assert run.vectors.isfinite().all()
    assert not torch.equal(run.vectors, embed_untrained(data, recipe))
    again = load_run(tmp_path / "run")
    assert again.recipe == run.recipe
    assert again.recipe.name == name
    torch.testing.assert_close(again.embed(data), run.embed(data))


@pytest.mark.parametrize("name", NAMES)
def test_every_method_learns_in_metis_parts(name, data):
    run = pretrain(data, small(name, clusters=4))
    assert len(run.history.epochs) == 3
    assert all(map(torch.isfinite, map(torch.tensor, run.history.epochs[-1].values())))


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("name", NAMES)
def test_a_resumed_run_ends_in_the_same_bits(name, data, tmp_path):
    recipe = small(name, epochs=4, save_every=2)

    def fitted(folder, stop=False):
        method = untrained_method(data.x.shape[1], recipe)
        if stop:
            steps, losses_of = iter(range(10)), method.losses

            def losses(batch, generator):
                if next(steps) == 3:
                    raise StoppedError
                return losses_of(batch, generator)

            method.losses = losses
        fit(method, data, recipe.train, Context(folder=folder))
        return method.state_dict()

    straight = fitted(None)
    with pytest.raises(StoppedError):
        fitted(tmp_path, stop=True)
    resumed = fitted(tmp_path)
    assert all(torch.equal(resumed[key], value) for key, value in straight.items())


@pytest.mark.parametrize("name", NAMES)
def test_published_recipes_are_valid_for_every_dataset(name):
    entry = find_method(name)
    assert entry.summary
    assert entry.source
    for dataset in ("cora", "citeseer", "pubmed", "dblp", "photo", "computers", "cs", "physics", "texas", "actor"):
        recipe = method_recipe(name, dataset)
        assert recipe.name == name
        assert Recipe.encoder_default().with_values(recipe.to_dict()) == recipe
        assert method_of(recipe.method) is entry


@pytest.mark.parametrize("name", ["dgi", "grace", "bgrl", "graphmae", "cca-ssg", "ggd"])
def test_embeddings_separate_communities(name, graph_and_labels):
    data, y = graph_and_labels
    run = pretrain(data, small(name, epochs=30, lr=1e-2))
    part = torch.arange(0, len(y), 2)
    rest = torch.arange(1, len(y), 2)
    centres = torch.stack([run.vectors[part][y[part] == k].mean(0) for k in range(3)])
    nearest = torch.cdist(run.vectors[rest], centres).argmin(1)
    assert (nearest == y[rest]).float().mean() > 0.6


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(InputError, match="did you mean 'bgrl'"):
        find_method("BGRL2")
    with pytest.raises(InputError, match="expected those of a registered method"):
        method_of(TrainSettings())


@dataclass(frozen=True)
class OwnSettings:
    strength: float = 1.0


class Own(EncoderMethod):
    def __init__(self, inputs, encoder, settings):
        super().__init__(inputs, encoder)
        self.settings = settings

    def losses(self, batch, generator):
        return {"size": self.settings.strength * self.encoder(batch.x, batch.graph)[-1].square().mean()}


OWN = MethodEntry("own-method", OwnSettings, Own, "shrinks outputs")


class Point:
    value = "somebody:OWN"

    def __init__(self, entry):
        self.entry = entry

    def load(self):
        return self.entry


@pytest.fixture
def offered(monkeypatch):
    def offer(*entries):
        monkeypatch.setattr(registry, "entry_points", lambda group: [Point(entry) for entry in entries])
        methods.cache_clear()

    yield offer
    methods.cache_clear()


def test_an_entry_point_adds_a_method(offered, data):
    offered(OWN)
    recipe = method_recipe("own-method").with_values({"strength": 2.0, "epochs": 3, "hidden": 8})
    assert recipe.to_dict()["method"] == {"name": "own-method", "strength": 2.0}
    run = pretrain(data, recipe)
    assert run.history.epochs[-1]["size"] < run.history.epochs[0]["size"]


def test_a_method_of_a_taken_name_is_refused(offered):
    offered(MethodEntry("dgi", OwnSettings, Own))
    with pytest.raises(InputError, match="which is taken"):
        methods()
    offered("nonsense")
    with pytest.raises(InputError, match="expected a MethodEntry"):
        methods()


def test_a_registered_method_can_be_trained_by_its_name(offered, data):
    offered()
    assert register(OWN) is OWN
    assert names()[-1] == "own-method"
    run = pretrain(data, method_recipe("own-method").with_values({"epochs": 3, "hidden": 8}))
    assert run.history.epochs[-1]["size"] < run.history.epochs[0]["size"]
    with pytest.raises(InputError, match="which is taken"):
        register(OWN)


@pytest.mark.parametrize("name", [name for name in names() if not name.endswith("bands")])
def test_settings_have_defaults_and_descriptions(name):
    entry = find_method(name)
    described = {item.arg_name for kind in entry.settings.__mro__[:-1] for item in parse_from_object(kind).params}
    assert described == {item.name for item in fields(entry.settings)}
    method = entry.build(4, EncoderSettings(conv="gcn", hidden=8), entry.settings())
    assert isinstance(method, EncoderMethod)


@pytest.mark.parametrize("name", SET_NAMES)
def test_every_method_for_sets_learns_and_embeds_graphs(name, graphs):
    recipe = method_recipe(name, "mutag").with_values({"hidden": 8, "epochs": 3, "batch_size": 8})
    if name == "girl":
        recipe = recipe.with_values({"rank": 16, "target_rank": 4})
    run = pretrain(graphs, recipe)
    assert run.vectors.shape == (graphs.num_graphs, run.method.width)
    assert run.vectors.isfinite().all()
    assert not torch.allclose(run.vectors, embed_untrained(graphs, recipe))


@pytest.mark.parametrize("name", [name for name in SET_NAMES if name not in NAMES])
def test_methods_for_sets_refuse_one_graph(name, data):
    with pytest.raises(InputError, match="expected a set of graphs"):
        pretrain(data, method_recipe(name).with_values({"epochs": 1}))
