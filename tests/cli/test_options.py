from __future__ import annotations

from dataclasses import fields

import pytest

from girl.cli.options import BandOptions, EncoderOptions, ObjectiveOptions, TrainOptions, assigned, given
from girl.errors import InputError
from girl.training.recipe import Recipe


@pytest.mark.parametrize(("recipe", "own"), [(Recipe(), BandOptions), (Recipe.encoder_default(), ObjectiveOptions)])
def test_every_setting_of_a_recipe_is_an_option(recipe, own):
    options = {item.name for kind in (EncoderOptions, own, TrainOptions) for item in fields(kind)}
    assert options == {name for section in recipe.to_dict().values() for name in section} - {"name"}


def test_only_options_that_were_given_count():
    assert given(EncoderOptions(hidden=8), TrainOptions()) == {"hidden": 8}


def test_assignments_are_read_as_in_a_toml_file():
    assert assigned(["rows=32", "lr = 1e-3", "conv=gcn", "time-limit=2.5"]) == {
        "rows": 32,
        "lr": 1e-3,
        "conv": "gcn",
        "time_limit": 2.5,
    }
    with pytest.raises(InputError, match="expected NAME=VALUE"):
        assigned(["rows"])
