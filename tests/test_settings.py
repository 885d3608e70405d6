from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from girl.errors import InputError
from girl.settings import checking, plain


@dataclass(frozen=True)
class Settings:
    names: tuple[str, ...] = ("a", "b")
    rate: float = 0.5
    strength: float | None = None


def test_plain_values_are_those_that_json_returns():
    values = plain(Settings())
    assert values == {"names": ["a", "b"], "rate": 0.5, "strength": None}
    assert json.loads(json.dumps(values)) == values


def test_a_failed_check_becomes_an_input_error_and_others_pass():
    with pytest.raises(InputError, match="rate: given 2"), checking():
        raise ValueError("rate: given 2")
    with pytest.raises(KeyError), checking():
        raise KeyError("rate")
    original = InputError("rate")
    with pytest.raises(InputError) as error, checking():
        raise original
    assert error.value is original
