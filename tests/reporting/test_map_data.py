from __future__ import annotations

import datetime as dt
import json

import numpy as np
import polars as pl
import pytest

from girl.reporting import map_data as mapdata
from girl.reporting.map_data import column


def test_a_direction_has_one_sign():
    h = np.random.default_rng(1).normal(size=(90, 6)).astype(np.float32) * np.arange(1, 7)
    plane, _, _ = mapdata.principal(h)
    order = np.random.default_rng(0).permutation(len(plane))
    assert mapdata.principal(h[order])[0] == pytest.approx(plane[order], abs=1e-4)


@pytest.mark.parametrize(
    ("series", "kind"),
    [
        (pl.Series("a", [1, 2, 1, None]), "category"),
        (pl.Series("a", list(range(30))), "number"),
        (pl.Series("a", [1.5, float("nan"), float("inf"), None]), "number"),
        (pl.Series("a", [True, False, None]), "category"),
        (pl.Series("a", ["x", "y", None] * 20), "category"),
        (pl.Series("a", [f"name {i}" for i in range(50)]), "text"),
        (pl.Series("a", ["x", "y"], dtype=pl.Categorical), "category"),
        (pl.Series("a", [dt.date(2020, 1, 1), None]), "date"),
        (pl.Series("a", [dt.datetime(2020, 1, 1, 12), None]), "time"),
        (pl.Series("a", [dt.timedelta(days=1), None]), "text"),
        (pl.Series("a", [dt.time(12), None]), "text"),
        (pl.Series("a", [[1, 2], [], None]), "number"),
        (pl.Series("a", [{"b": 1}, None]), "text"),
        (pl.Series("a", [b"\x00", None]), "text"),
        (pl.Series("a", [f"v{i % 150}" for i in range(600)]), "category"),
    ],
)
def test_every_kind_of_column_is_drawn_or_read(series, kind):
    found = column(series)
    assert found is not None
    assert found["kind"] == kind
    json.dumps(found, allow_nan=False)
    for key in ("codes", "values", "texts"):
        assert len(found.get(key, series)) == len(series)
    if kind == "category":
        known = [None if code < 0 else found["levels"][code] for code in found["codes"]]
        assert known == [None if value is None else str(value).lower() for value in series.to_list()]


def test_a_number_as_label_is_a_class():
    assert column(pl.Series("y", [0.0, 1.0, 2.0] * 10), label=True)["levels"] == ["0", "1", "2"]
    assert column(pl.Series("y", list(range(30))), label=True)["kind"] == "category"
    assert column(pl.Series("y", np.linspace(0, 1, 200)), label=True)["kind"] == "number"


def test_few_hubs_do_not_leave_all_others_in_one_colour():
    degree = np.array([1.0, 2.0] * 40 + [5000.0] * 10)
    assert mapdata._scale("degree", degree)["log"]
    assert not mapdata._scale("age", np.arange(90.0))["log"]
