from __future__ import annotations

import json
from datetime import date, datetime

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from girl.errors import InputError
from girl.tables.table_encoder import TableEncoder


def dense(x) -> np.ndarray:
    return x.toarray() if scipy.sparse.issparse(x) else x


def fit(table: pl.DataFrame, **choices) -> TableEncoder:
    return TableEncoder.fit_transform(table, **choices)[0]


def fitted(table: pl.DataFrame, **choices) -> tuple[TableEncoder, dict[str, np.ndarray]]:
    """The encoder and its columns by name, without the common factor."""
    encoder, x, _ = TableEncoder.fit_transform(table, **choices)
    names = encoder.feature_names
    assert x.shape[1] == len(names) == len(set(names))
    return encoder, dict(zip(names, dense(x).T / encoder.scale, strict=True))


def test_numbers_have_mean_0_and_std_1_and_missing_ones_become_the_mean():
    table = pl.DataFrame({"age": [1.0, 2.0, float("nan"), float("inf"), None, 6.0]})
    _, x = fitted(table)
    present = x["age"][[0, 1, 5]]
    assert abs(present.mean()) < 1e-6
    assert abs(present.std() - 1) < 1e-6
    np.testing.assert_array_equal(x["age"][2:5], 0)
    np.testing.assert_array_equal(x["age missing"], [0, 0, 1, 1, 1, 0])


def test_huge_and_close_numbers_are_standardized():
    _, x = fitted(pl.DataFrame({"huge": [1e308, -1e308, 1e308, 0.0], "close": [1.6e9, 1.6e9 + 1, 1.6e9 + 2, 1.6e9]}))
    assert np.isfinite(x["huge"]).all()
    np.testing.assert_allclose([x["huge"].std(), x["close"].std()], 1, rtol=1e-4)


def test_columns_without_information_are_skipped_with_a_reason():
    table = pl.DataFrame(
        {
            "user_id": [5, 6, 7, 8],
            "constant": [1, 1, 1, 1],
            "empty": pl.Series([None] * 4, dtype=pl.String),
            "yes": [True] * 4,
            "same": ["a"] * 4,
            "name": ["ann", "bob", "eve", "joe"],
            "essay": ["it was a dark night", "it was a dark night", "so say we all of us", "so say we all of us"],
            "lists": pl.Series([[], [], [], []], dtype=pl.List(pl.Int64)),
            "struct": [{"a": 1}] * 4,
            "date": [date(2020, 1, 1)] * 4,
            "age": [1, 2, 3, 4],
        }
    )
    encoder = fit(table)
    assert encoder.columns == ["age"]
    reasons = encoder.skipped
    assert "id" in reasons["user_id"]
    assert all("same for all" in reasons[name] for name in ("constant", "yes", "same", "date"))
    assert all("--text" in reasons[name] for name in ("name", "essay"))
    assert reasons["empty"] == "empty"
    assert "empty" in reasons["lists"]
    assert "Struct" in reasons["struct"]
    assert fit(table, columns=["user_id"]).columns == ["user_id", "age"]


def test_a_constant_with_missing_values_keeps_the_flag():
    _, x = fitted(pl.DataFrame({"score": [5, None, 5]}))
    assert list(x) == ["score missing"]
    np.testing.assert_array_equal(x["score missing"], [0, 1, 0])


def test_booleans_are_0_and_1_and_categories_one_hot():
    table = pl.DataFrame({"on": [True, False, None, True], "city": ["B", " A", None, "A"]})
    _, x = fitted(table)
    np.testing.assert_array_equal(x["on"], [1, 0, 0, 1])
    np.testing.assert_array_equal(x["on missing"], [0, 0, 1, 0])
    np.testing.assert_array_equal(x["city = A"], [0, 1, 0, 1])
    np.testing.assert_array_equal(x["city = other"], [1, 0, 0, 0])
    np.testing.assert_array_equal(x["city missing"], [0, 0, 1, 0])


def test_rare_and_unseen_levels_share_one_feature():
    levels = [f"l{k}" for k in range(150) for _ in range(3)] + ["once"]
    encoder = fit(pl.DataFrame({"c": levels}))
    assert len(encoder.feature_names) == 101
    x = encoder.transform(pl.DataFrame({"c": ["once", "never", "l0", None]}))[0]
    np.testing.assert_array_equal(np.asarray((x != 0).sum(axis=1)).ravel(), [1, 1, 1, 0])
    assert x[0, 100] == x[1, 100] != 0


def test_dates_and_dates_as_text_give_the_same_features():
    days = [date(2020, 1, 5), date(2020, 7, 6), date(2021, 1, 7), None]
    _, x = fitted(pl.DataFrame({"d": days}))
    assert {"d", "d sine of year", "d cosine of week", "d missing"} <= set(x)
    assert "d sine of day" not in x
    for form in ("%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d"):
        _, text = fitted(pl.DataFrame({"d": [day and day.strftime(form) for day in days]}))
        for name, column in x.items():
            np.testing.assert_allclose(text[name], column, atol=1e-6)
    _, x = fitted(pl.DataFrame({"t": [datetime(2020, 1, 1, 0), datetime(2020, 1, 1, 6), datetime(2020, 1, 1, 12)]}))
    assert list(x) == ["t", "t sine of day", "t cosine of day"]
    np.testing.assert_allclose(x["t sine of day"], [0, 1, 0], atol=1e-6)


def test_rows_of_lists_have_one_norm():
    lists = [[3, 17, 90], [17], [], None]
    for column in (lists, ["[3, 17, 90]", "[17]", " [] ", None]):
        _, x = fitted(pl.DataFrame({"f": column}))
        assert list(x) == ["f 3", "f 17", "f 90", "f missing"]
        rows = np.stack([x["f 3"], x["f 17"], x["f 90"]], axis=1)
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [2**0.5, 2**0.5, 0, 0], rtol=1e-6)
        np.testing.assert_allclose(rows[0], (2 / 3) ** 0.5, rtol=1e-6)
        np.testing.assert_array_equal(x["f missing"], [0, 0, 0, 1])


def test_lists_may_hold_names_or_pairs():
    _, x = fitted(pl.DataFrame({"f": [["b", "a"], ["a"]]}))
    assert list(x) == ["f a", "f b"]
    _, quoted = fitted(pl.DataFrame({"f": ['["b", "a"]', '["a"]']}))
    np.testing.assert_array_equal(quoted["f b"], x["f b"])
    pairs = [[{"index": 0, "value": 3.0}, {"index": 5, "value": 4.0}], [{"index": 5, "value": 9.0}]]
    _, x = fitted(pl.DataFrame({"f": pairs}))
    np.testing.assert_allclose(x["f 0"] / x["f 5"], [0.75, 0], rtol=1e-6)


def test_a_wide_bag_stays_sparse():
    """100 000 nodes and 100 000 features would be 40 GB."""
    n = 100_000
    lists = pl.DataFrame({"row": np.repeat(np.arange(n), 2), "f": np.arange(2 * n) % n}).group_by(
        "row", maintain_order=True
    )
    table = lists.agg("f").select("f").with_columns(age=pl.Series(np.arange(n) % 7))
    x = TableEncoder.fit_transform(table, absent=5)[1]
    assert scipy.sparse.issparse(x)
    assert x.shape == (n + 5, n + 2)
    assert x.nnz <= 3 * n + 5


def test_vectors_are_standardized_by_position():
    values = np.random.default_rng(0).normal(3, 2, (20, 3))
    values[:, 1] = 7
    for column in (pl.Series("v", values), pl.Series("v", values.tolist()), pl.Series("v", map(str, values.tolist()))):
        _, x = fitted(column.to_frame())
        assert list(x) == ["v 0", "v 2"]
        np.testing.assert_allclose(x["v 2"].std(), 1, rtol=1e-5)
    with pytest.raises(InputError, match="row 2, column 'v': has 1 numbers, expected 2 as in the other rows"):
        fit(pl.DataFrame({"v": [[1.5, 2], [3.5], [1.0, 2.0]]}))


def test_words_of_text_columns_are_hashed():
    table = pl.DataFrame({"bio": ["graphs and kernels", "kernels", None]})
    x = fit(table, text=["bio"]).transform(table)[0]
    assert scipy.sparse.issparse(x)
    counts = np.diff(x.indptr)
    np.testing.assert_array_equal(counts, [3, 1, 1])  # the last is the flag
    shared = x[0].multiply(x[1])
    assert shared.nnz == 1


def test_nodes_without_a_row_are_zero_except_for_one_flag():
    table = pl.DataFrame({"age": [1, 2, 3], "city": ["a", "a", None]})
    _, x = fitted(table, absent=2)
    for name, column in x.items():
        np.testing.assert_array_equal(column[3:], 1 if name == "only in edges" else 0)
    np.testing.assert_array_equal(x["only in edges"][:3], 0)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["1", "2", "old", "4"], "row 3, column 'age': 'old' is not a number"),
        (
            ["2020-01-01", "2020-02-31", "2020-03-01"],
            "row 2, column 'age': '2020-02-31' is not a date such as 2021-04-03",
        ),
    ],
)
def test_a_wrong_cell_is_named(cells, words):
    with pytest.raises(InputError, match=words):
        fit(pl.DataFrame({"age": cells}))


def test_columns_of_another_kind_than_fitted_are_errors():
    with pytest.raises(InputError, match=r"row 2, column 'f': '\[3 4\]' is not a list such as \[3, 17\]"):
        fit(pl.DataFrame({"f": ["[1, 2]", "[3 4]"]}))
    bag = fit(pl.DataFrame({"f": [[1, 2], [3]]}))
    with pytest.raises(InputError, match="column 'f': given Int64, expected lists"):
        bag.transform(pl.DataFrame({"f": [1, 2]}))[0]
    with pytest.raises(InputError, match=r"row 1, column 'f': 'x' is not a list"):
        bag.transform(pl.DataFrame({"f": ["x", "[1]"]}))[0]
    number = fit(pl.DataFrame({"f": [1, 2]}))
    with pytest.raises(InputError, match="column 'f': given List.*trained with: a number"):
        number.transform(pl.DataFrame({"f": [[1], [2]]}))[0]
    vector = fit(pl.DataFrame({"f": [[1.5, 2.0], [2.5, 1.0]]}))
    with pytest.raises(InputError, match="column 'f': given Int64, expected a list of numbers"):
        vector.transform(pl.DataFrame({"f": [1, 2]}))[0]


def test_usual_signs_for_missing_values_are_flagged():
    _, x = fitted(pl.DataFrame({"age": ["1", "NA", "?", "", " n/a", "4"]}))
    np.testing.assert_array_equal(x["age missing"], [0, 1, 1, 1, 1, 0])


def test_a_fitted_encoder_needs_its_columns_and_ignores_new_ones():
    encoder = fit(pl.DataFrame({"age": [1, 2], "size": [2, 1], "name": ["a", "b"]}))
    with pytest.raises(InputError, match="lacks the columns 'age', 'size', which the model was trained with"):
        encoder.transform(pl.DataFrame({"name": ["a"]}))[0]
    assert encoder.new_columns(["age", "size", "name", "more"]) == ["more"]
    with pytest.raises(InputError, match="column 'age': 'x' is not a number"):
        encoder.transform(pl.DataFrame({"age": ["x"], "size": [1]}))[0]


@pytest.mark.parametrize("value", [{}, {"format": 99}, {"format": 2}, {"format": 2, "encoders": [{"kind": "no"}]}])
def test_a_saved_encoder_of_another_format_or_damaged_is_an_error(value):
    with pytest.raises(InputError, match="encoding: "):
        TableEncoder.from_dict(value)


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "number": st.none() | st.floats(-1e6, 1e6),
            "integer": st.none() | st.integers(-1000, 1000),
            "boolean": st.none() | st.booleans(),
            "level": st.none() | st.sampled_from("abcd"),
            "date": st.none() | st.dates(date(1990, 1, 1), date(2030, 1, 1)),
            "bag": st.none() | st.lists(st.integers(0, 30), max_size=5),
        }
    ),
    min_size=2,
    max_size=20,
)
KINDS = {
    "number": pl.Float64,
    "integer": pl.Int64,
    "boolean": pl.Boolean,
    "level": pl.String,
    "date": pl.Date,
    "bag": pl.List(pl.Int64),
}


@settings(max_examples=25, deadline=None)
@given(ROWS, st.integers(0, 3), st.randoms(use_true_random=False))
def test_a_saved_encoder_gives_the_same_features_in_any_row_order(rows, absent, random):
    """Kept as JSON and replayed it gives the same; rows have length √d on average; order of rows is theirs alone."""
    table = pl.DataFrame(rows, schema=KINDS)
    encoder, x, missing = TableEncoder.fit_transform(table, absent=absent)
    again = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict(), allow_nan=False)))
    assert again == encoder
    replayed, count = again.transform(table, absent)
    np.testing.assert_array_equal(dense(replayed), dense(x))
    assert count == missing
    assert x.dtype == np.float32
    assert x.shape == (table.height + absent, len(encoder.feature_names))
    assert np.isfinite(dense(x)).all()
    if (dense(x) != 0).any():
        np.testing.assert_allclose((dense(x) ** 2).sum(axis=1).mean(), x.shape[1], rtol=1e-4)
    order = list(range(table.height))
    random.shuffle(order)
    shuffled = fit(table[order], absent=absent)
    assert shuffled.feature_names == encoder.feature_names
    np.testing.assert_allclose(
        dense(shuffled.transform(table[order], absent)[0])[: len(order)], dense(x)[order], atol=1e-3
    )
