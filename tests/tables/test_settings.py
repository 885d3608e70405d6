from __future__ import annotations

import dataclasses
import inspect

import pytest

from girl.errors import InputError
from girl.tables.settings import InputSettings


def test_every_field_is_described_in_one_sentence_for_the_help():
    source = inspect.getsource(InputSettings)
    for field in dataclasses.fields(InputSettings):
        description = source.split(f"    {field.name}: ")[1].split('"""')[1]
        assert description[0].isupper()
        assert description.endswith(".")
        assert "\n" not in description


def test_nothing_is_set_by_default():
    assert not any(dataclasses.astuple(InputSettings()))


def test_a_mapping_gives_the_same_settings():
    settings = InputSettings(label="team", columns=("age",), text=("bio", "job"), directed=True)
    values = {"label": "team", "columns": "age", "text": ["bio", "job"], "directed": True}
    assert InputSettings.of(values) == settings
    assert InputSettings.of(settings) is settings
    assert InputSettings.of(None) == InputSettings()
    with pytest.raises(InputError, match="settings: given 'lable', expected names among source, target"):
        InputSettings.of({"lable": "team"})
