from __future__ import annotations

import json
from dataclasses import fields

import pytest

from girl.errors import InputError
from girl.lab.nodes import PROTOCOLS
from girl.methods.bands import BandSettings
from girl.training.recipe import Recipe, tuned_recipe
from girl.training.state import TrainSettings


@pytest.mark.parametrize("name", ["a.toml", "a.yaml", "a.json"])
def test_a_file_says_what_differs_from_the_default(tmp_path, name):
    text = {
        "a.toml": '[encoder]\nconv = "sage"\n[method]\ntargets = ["input", "neighbor"]\n[train]\nlr = 0.01\n',
        "a.yaml": "encoder:\n  conv: sage\nmethod:\n  targets: [input, neighbor]\ntrain:\n  lr: 0.01\n",
        "a.json": json.dumps({"conv": "sage", "targets": ["input", "neighbor"], "lr": 0.01}),  # without sections
    }[name]
    (tmp_path / name).write_text(text)
    found = Recipe.load(tmp_path / name)
    assert (found.encoder.conv, found.method.targets, found.train.lr) == ("sage", ("input", "neighbor"), 0.01)
    assert found.train.epochs == Recipe().train.epochs


def test_a_recipe_survives_being_written():
    recipe = Recipe.load("paper").with_seed(7)
    assert Recipe.encoder_default().with_values(json.loads(json.dumps(recipe.to_dict()))) == recipe


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.toml", "[train]\nlearning_rate = 1", ["a.toml", "learning_rate", "lr"]),
        ("a.toml", "epoch = 3", ["epoch", "did you mean 'epochs'"]),
        ("a.toml", "[train\n", ["a.toml", "not readable"]),
        ("a.toml", "epochs = 'many'", ["a.toml", "epochs", "whole number"]),
        ("a.yaml", "- 1\n- 2", ["a.yaml", "settings by name"]),
        ("a.ini", "", [".ini", ".toml"]),
    ],
)
def test_a_mistake_names_the_file_and_the_setting(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as error:
        Recipe.load(tmp_path / name)
    assert all(word in str(error.value) for word in words)


def test_an_unknown_name_lists_those_that_are_shipped():
    with pytest.raises(InputError, match="paper"):
        Recipe.load("papre")


def test_every_shipped_recipe_is_valid_and_every_table_has_one():
    for name in Recipe.names():
        Recipe.load(name)
    assert set(PROTOCOLS) <= set(Recipe.names())
    assert tuned_recipe("reddit") == Recipe()


def test_a_record_names_the_method_and_lists_every_setting():
    record = Recipe().to_dict()
    assert record["method"]["name"] == "bands"
    assert set(record["method"]) == {"name"} | {item.name for item in fields(BandSettings)}
    assert set(record["train"]) == {item.name for item in fields(TrainSettings)}


def test_no_two_settings_share_a_name():
    for recipe in (Recipe(), Recipe.encoder_default()):
        names = [name for section in recipe.to_dict().values() for name in section]
        assert len(names) == len(set(names))  # else a flat file or an option would set the wrong one


def test_a_file_with_settings_of_bands_is_of_the_default_recipe(tmp_path):
    (tmp_path / "a.toml").write_text('dim = 32\nbands = ["own", "mid"]\nscales = [1, 0.5]\nseed = 3\n')
    recipe = Recipe.load(tmp_path / "a.toml")
    assert recipe.method == BandSettings(dim=32, bands=("own", "mid"), scales=(1, 0.5))
    assert recipe.train.seed == 3


def test_changing_the_method_leaves_or_enters_the_default_recipe():
    assert Recipe().with_values({"method": {"name": "girl"}}) == Recipe.encoder_default()
    assert Recipe.load("cora").with_values({"method": {"name": "bands"}}) == Recipe()


def test_a_setting_of_another_recipe_is_refused_by_name():
    with pytest.raises(InputError, match="targets: given with another recipe, expected the recipe encoder"):
        Recipe().with_values({"targets": ["input"]})
    with pytest.raises(InputError, match="dim: given with another recipe, expected the recipe default"):
        Recipe.load("cora").with_values({"dim": 8})


def test_numbers_in_yaml_may_be_written_as_people_do(tmp_path):
    (tmp_path / "r.yaml").write_text("lr: 1e-3\nunit: false\n")
    found = Recipe.load(tmp_path / "r.yaml")
    assert found.train.lr == 0.001
    assert found.encoder.unit is False


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("targets: 5", "expected a list"),
        ("targets: null", "expected a list"),
        ("unit: maybe", "expected true or false"),
        ("directed: 'false'", "expected true or false"),
        ("1: 2", "no setting is called '1'"),
    ],
)
def test_values_of_the_wrong_kind_are_refused(text, words, tmp_path):
    (tmp_path / "r.yaml").write_text(text)
    with pytest.raises(InputError, match=words):
        Recipe.load(tmp_path / "r.yaml")


def test_a_recipe_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "r.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "d.toml").mkdir()
    for name in ("r.toml", "d.toml"):
        with pytest.raises(InputError, match="not readable"):
            Recipe.load(tmp_path / name)
