from __future__ import annotations

import pytest

import girl.splits
from girl.errors import InputError


def test_every_protocol_is_found_by_its_name():
    for name, protocol in girl.splits.PROTOCOLS.items():
        assert girl.splits.get(name) is protocol
        assert protocol.name == name


def test_an_unknown_name_is_met_with_close_ones():
    with pytest.raises(InputError, match="did you mean 'random-10-10-80'"):
        girl.splits.get("random-10-10-8")
    with pytest.raises(InputError, match="expected one of 'public', 'full'"):
        girl.splits.get("xyz")
