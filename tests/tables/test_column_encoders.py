from __future__ import annotations

from datetime import date

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from girl.tables.column_encoders import (
    KINDS,
    Bag,
    Boolean,
    Category,
    Date,
    Number,
    Text,
    Vector,
    mean_and_std,
    one_hot,
    scale_rows,
    standardize,
)

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("encoder", "column"),
    [
        (Number, [1.5, None, 3.0]),
        (Boolean, [True, False, None]),
        (Category, ["a", "a", None, "b", "b"]),
        (Date, [date(2020, 1, 1), None, date(2021, 7, 2)]),
        (Bag, [[1, 2], [], None]),
        (Vector, [[1.0, 2.0], [3.0, 4.0], None]),
        (Text, ["one two", None, "three"]),
    ],
)
def test_features_have_a_row_for_each_cell_and_a_name_for_each_column(encoder, column):
    column = pl.Series("c", column)
    fitted = encoder.fit(column)
    block, missing = fitted.transform(column)
    assert block.shape == (len(column), len(fitted.feature_names))
    assert block.dtype == np.float32
    assert missing.tolist() == column.is_null().to_list()
    assert fitted.flag_missing
    assert KINDS[fitted.kind] is encoder
    rows = block.toarray() if scipy.sparse.issparse(block) else block
    assert not rows[missing].any()


@settings(max_examples=60, deadline=None)
@given(st.lists(FLOATS, min_size=1))
def test_mean_and_std_never_overflow_and_std_is_0_only_for_constants(values):
    values = np.array(values)
    mean, std = mean_and_std(values)
    assert np.isfinite([mean, std]).all()
    assert (std == 0) == (values.min() == values.max())
    if np.abs(values).max() < 1e100:
        np.testing.assert_allclose(mean, values.mean(), atol=1e-12 * np.abs(values).max())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e200, 1e200), min_size=1), st.floats(-1e200, 1e200), st.floats(1e-100, 1e100))
def test_standardized_values_are_finite_float32(values, mean, std):
    column = standardize(np.array(values), mean, std)
    assert np.isfinite(column).all()
    assert column.dtype == np.float32


@given(st.lists(st.integers(-1, 4), min_size=1))
def test_one_hot_has_a_1_at_each_position_that_is_not_negative(positions):
    matrix = one_hot(np.array(positions), 5).toarray()
    expected = np.eye(6)[positions][:, :5] * (np.array(positions) >= 0)[:, None]
    np.testing.assert_array_equal(matrix, expected)


def test_scaled_rows_have_one_norm_and_empty_rows_stay_empty():
    matrix = scipy.sparse.csr_matrix(np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]], dtype=np.float32))
    np.testing.assert_allclose(np.linalg.norm(scale_rows(matrix, 2.0).toarray(), axis=1), [2, 0, 2], rtol=1e-6)
