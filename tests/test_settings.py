from __future__ import annotations

import json
from dataclasses import dataclass

from girl.settings import plain


@dataclass(frozen=True)
class Settings:
    names: tuple[str, ...] = ("a", "b")
    rate: float = 0.5
    strength: float | None = None


def test_plain_values_are_those_that_json_returns():
    values = plain(Settings())
    assert values == {"names": ["a", "b"], "rate": 0.5, "strength": None}
    assert json.loads(json.dumps(values)) == values
