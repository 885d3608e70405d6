from __future__ import annotations

import json

import pytest

from girl.errors import InputError
from girl.experiments.nodes import PROTOCOLS
from girl.train.recipe import Recipe, find_recipe, read_recipe, shipped, tuned_recipe


@pytest.mark.parametrize("name", ["a.toml", "a.yaml", "a.json"])
def test_a_file_says_what_differs_from_the_default(tmp_path, name):
    text = {
        "a.toml": '[encoder]\nconv = "sage"\n[method]\ntargets = ["input", "neighbour"]\n[train]\nlr = 0.01\n',
        "a.yaml": "encoder:\n  conv: sage\nmethod:\n  targets: [input, neighbour]\ntrain:\n  lr: 0.01\n",
        "a.json": json.dumps({"conv": "sage", "targets": ["input", "neighbour"], "lr": 0.01}),  # without sections
    }[name]
    (tmp_path / name).write_text(text)
    found = read_recipe(tmp_path / name)
    assert (found.encoder.conv, found.method.targets, found.train.lr) == ("sage", ("input", "neighbour"), 0.01)
    assert found.train.epochs == Recipe().train.epochs


def test_a_recipe_survives_being_written():
    recipe = find_recipe("paper").with_seed(7)
    assert Recipe().with_values(json.loads(json.dumps(recipe.to_dict()))) == recipe


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
        read_recipe(tmp_path / name)
    assert all(word in str(error.value) for word in words)


def test_an_unknown_name_lists_those_that_are_shipped():
    with pytest.raises(InputError, match="paper"):
        find_recipe("papre")


def test_every_shipped_recipe_is_valid_and_every_table_has_one():
    for name in shipped():
        find_recipe(name)
    assert set(PROTOCOLS) <= set(shipped())
    assert tuned_recipe("reddit") == Recipe()


def test_no_two_settings_share_a_name():
    names = [name for section in Recipe().to_dict().values() for name in section]
    assert len(names) == len(set(names))  # else a flat file or an option would set the wrong one
