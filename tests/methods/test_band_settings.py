from __future__ import annotations

import pytest

from girl.errors import InputError
from girl.methods.bands import BandSettings
from girl.methods.graph_bands import GraphBandSettings


@pytest.mark.parametrize("settings", [BandSettings, GraphBandSettings])
def test_both_kinds_of_settings_refuse_the_same_mistakes(settings):
    for values, words in (
        ({"bands": ()}, "bands: given none"),
        ({"bands": ("roles",), "scales": (1.0, 2.0)}, "scales: given 2 for 1 bands"),
        ({"bands": ("roles",), "scales": (0.0,)}, "only zeros"),
        ({"judge_rows": 3}, "judge_rows"),
    ):
        with pytest.raises(InputError, match=words):
            settings(**values)
