from __future__ import annotations

from dataclasses import dataclass, fields

import pytest
import torch

from girl.errors import InputError
from girl.methods import registry
from girl.methods.encoder_method import EncoderMethod
from girl.methods.registry import MethodEntry, find_method, method_of, methods
from girl.nn.encoder import EncoderSettings
from girl.training.context import Context
from girl.training.loop import fit
from girl.training.recipe import Recipe, method_recipe
from girl.training.run import load_run, pretrain
from girl.training.state import TrainSettings
from girl.training.untrained import embed_untrained, untrained_method

NAMES = [name for name, entry in methods().items() if entry.level != "graphs"]


def small(name, **train):
    """The published recipe in small."""
    found = method_recipe(name).with_values({"encoder": {"hidden": 16}, "train": {"epochs": 3, "warmup": 0, **train}})
    return found.with_values({"rank": 16, "target_rank": 8}) if name == "girl" else found


@pytest.mark.parametrize("name", NAMES)
def test_every_method_learns_and_embeds(name, graph_and_labels, tmp_path):
    whole, _ = graph_and_labels
    recipe = small(name)
    run = pretrain(whole, recipe, Context(folder=tmp_path / "run"))
    assert run.vectors.shape == (whole.num_nodes, run.method.width)
    assert run.vectors.isfinite().all()
    assert not torch.equal(run.vectors, embed_untrained(whole, recipe))
    again = load_run(tmp_path / "run")
    assert again.recipe == run.recipe
    assert again.recipe.name == name
    torch.testing.assert_close(again.embed(whole), run.embed(whole))


@pytest.mark.parametrize("name", NAMES)
def test_a_method_learns_in_parts_too(name, graph_and_labels):
    whole, _ = graph_and_labels
    run = pretrain(whole, small(name, clusters=4))
    assert len(run.history.epochs) == 3
    assert all(map(torch.isfinite, map(torch.tensor, run.history.epochs[-1].values())))


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("name", NAMES)
def test_a_resumed_method_ends_in_the_same_bits(name, graph_and_labels, tmp_path):
    whole, _ = graph_and_labels
    recipe = small(name, epochs=4, save_every=2)

    def fitted(folder, stop=False):
        made = untrained_method(whole.x.shape[1], recipe)
        if stop:
            steps, plain = iter(range(10)), made.losses

            def losses(batch, generator):
                if next(steps) == 3:
                    raise StoppedError
                return plain(batch, generator)

            made.losses = losses
        fit(made, whole, recipe.train, Context(folder=folder))
        return made.state_dict()

    straight = fitted(None)
    with pytest.raises(StoppedError):
        fitted(tmp_path, stop=True)
    resumed = fitted(tmp_path)
    assert all(torch.equal(resumed[key], value) for key, value in straight.items())


@pytest.mark.parametrize("name", NAMES)
def test_published_recipes_fit_their_settings(name):
    entry = find_method(name)
    assert entry.summary
    assert entry.source
    for dataset in ("cora", "citeseer", "pubmed", "dblp", "photo", "computers", "cs", "physics", "texas", "actor"):
        recipe = method_recipe(name, dataset)
        assert recipe.name == name
        assert Recipe().with_values(recipe.to_dict()) == recipe
        assert method_of(recipe.method) is entry


@pytest.mark.parametrize("name", ["dgi", "grace", "bgrl", "graphmae", "cca-ssg", "ggd"])
def test_what_is_learned_tells_communities_better_than_chance(name, graph_and_labels):
    whole, y = graph_and_labels
    run = pretrain(whole, small(name, epochs=30, lr=1e-2))
    part = torch.arange(0, len(y), 2)
    rest = torch.arange(1, len(y), 2)
    centres = torch.stack([run.vectors[part][y[part] == k].mean(0) for k in range(3)])
    found = torch.cdist(run.vectors[rest], centres).argmin(1)
    assert (found == y[rest]).float().mean() > 0.6


def test_records_of_girl_are_as_they_were():
    found = Recipe().to_dict()
    assert "name" not in found["method"]
    assert not {"warmup", "limit"} & set(found["train"])
    changed = Recipe().with_values({"warmup": 3}).to_dict()
    assert changed["train"]["warmup"] == 3


def test_unknown_methods_are_named_with_the_nearest():
    with pytest.raises(InputError, match="did you mean 'bgrl'"):
        find_method("BGRL2")
    with pytest.raises(InputError, match="no method has"):
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


OWN = MethodEntry("own-method", "grows small", "nobody", OwnSettings, Own)


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


def test_another_package_adds_a_method(offered, graph_and_labels):
    offered(OWN)
    recipe = method_recipe("own-method").with_values({"strength": 2.0, "epochs": 3, "hidden": 8})
    assert recipe.to_dict()["method"] == {"name": "own-method", "strength": 2.0}
    run = pretrain(graph_and_labels[0], recipe)
    assert run.history.epochs[-1]["size"] < run.history.epochs[0]["size"]


def test_a_method_of_a_taken_name_is_refused(offered):
    offered(MethodEntry("dgi", "", "", OwnSettings, Own))
    with pytest.raises(InputError, match="which is taken"):
        methods()
    offered("nonsense")
    with pytest.raises(InputError, match="expected a MethodEntry"):
        methods()


def test_all_settings_have_defaults_and_words():
    for entry in methods().values():
        assert entry.settings() == entry.settings()
        assert isinstance(entry.build(4, EncoderSettings(conv="gcn", hidden=8), entry.settings()), EncoderMethod)
        for item in fields(entry.settings):
            assert item.name.islower()
