from __future__ import annotations

import datetime as dt
import json

import numpy as np
import polars as pl
import pytest

from girl.reporting.map_data import _numeric, clusters, column, principal_components


def test_the_sign_of_a_component_does_not_depend_on_the_order_of_rows():
    h = np.random.default_rng(1).normal(size=(90, 6)).astype(np.float32) * np.arange(1, 7)
    plane, _, _ = principal_components(h)
    order = np.random.default_rng(0).permutation(len(plane))
    assert principal_components(h[order])[0] == pytest.approx(plane[order], abs=1e-4)


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
def test_every_type_of_column_is_drawn_or_shown_as_text(series, kind):
    result = column(series)
    assert result is not None
    assert result["kind"] == kind
    json.dumps(result, allow_nan=False)
    for key in ("codes", "values", "texts"):
        assert len(result.get(key, series)) == len(series)
    if kind == "category":
        values = [None if code < 0 else result["levels"][code] for code in result["codes"]]
        assert values == [None if value is None else str(value).lower() for value in series.to_list()]


def test_a_numeric_label_is_a_class():
    assert column(pl.Series("y", [0.0, 1.0, 2.0] * 10), label=True)["levels"] == ["0", "1", "2"]
    assert column(pl.Series("y", list(range(30))), label=True)["kind"] == "category"
    assert column(pl.Series("y", np.linspace(0, 1, 200)), label=True)["kind"] == "number"


def test_skewed_numbers_get_a_logarithmic_colour_scale():
    degree = np.array([1.0, 2.0] * 40 + [5000.0] * 10)
    assert _numeric("degree", degree)["log"]
    assert not _numeric("age", np.arange(90.0))["log"]


def test_an_empty_column_is_left_out():
    assert column(pl.Series("a", [None, None])) is None


def test_clusters_are_numbered_by_size():
    centers = np.repeat([[0.0], [10.0], [20.0]], [5, 30, 15], axis=0)
    rows = centers + np.random.default_rng(0).normal(size=(50, 2))
    assert clusters(rows, 3).tolist() == [2] * 5 + [0] * 30 + [1] * 15
    assert set(clusters(np.ones((6, 2)), 3).tolist()) == {0}, "equal rows are one cluster"
