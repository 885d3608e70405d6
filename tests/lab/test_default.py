from __future__ import annotations

import pytest

from girl.datasets.registry import DATASETS
from girl.errors import InputError
from girl.lab.cells import Cell
from girl.lab.default import DEFAULT_PROTOCOLS, METHODS, Default
from girl.training.recipe import Recipe


def test_every_dataset_has_its_protocols():
    for name, protocols in DEFAULT_PROTOCOLS.items():
        assert set(protocols) <= set(DATASETS[name].protocols)


def test_every_method_is_computed_at_both_widths_and_only_the_default_is_the_default():
    recipes = Default().recipes("cora", 3)
    assert set(recipes) == {f"{method} {width}" for method in METHODS for width in (256, 512)}
    assert recipes["default 256"] == Recipe().with_seed(3)
    assert set(Default().recipes("usa-airports", 0)) == {
        f"{method} {width}" for method in ("positions", "untrained", "default") for width in (256, 512)
    }


def test_a_cell_has_scores_and_the_choice():
    experiment = Default()
    small = Recipe().with_values({"dim": 256, "judge_rows": 60, "judge_repeats": 1}).to_dict()
    done = experiment.compute(Cell("digits", "default 256", 0, small))
    assert {row["protocol"] for row in done["rows"]} == set(DEFAULT_PROTOCOLS["digits"])
    assert done["choices"]["scales"]
    raw = experiment.compute(Cell("digits", "raw 256", 0, small))
    assert raw["columns"] == 64
    assert raw["rows"][0]["test"] < done["rows"][0]["test"]


def test_options_select_cells():
    chosen = Default(datasets=("digits",), seeds=1, widths=(256,), methods=("raw", "default")).cells()
    assert [cell.method for cell in chosen] == ["raw 256", "default 256"]


def test_a_width_that_is_not_computed_is_refused():
    with pytest.raises(InputError, match="widths: given 128, expected some of 256, 512"):
        Default(widths=(128,))
