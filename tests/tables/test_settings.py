from __future__ import annotations

import dataclasses
import inspect

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
