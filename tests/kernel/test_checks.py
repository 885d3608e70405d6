from __future__ import annotations

import pytest
import torch

from girl.kernel.checks import (
    EqualRowsError,
    NotFiniteError,
    all_rows_equal,
    check_bool,
    check_choice,
    check_finite,
    check_int,
    check_number,
    check_rows_differ,
)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: check_choice("kind", "means", ["mean", "sum"]), ("kind", "'means'", "'mean', 'sum'", "did you mean")),
        (lambda: check_bool("flag", "false"), ("flag", "'false'", "true or false")),
        (lambda: check_int("count", 0, 1), ("count", "0", "at least 1")),
        (lambda: check_int("count", True, 1), ("count", "True", "whole number")),
        (lambda: check_int("count", 1.5, 1), ("count", "1.5", "whole number")),
        (lambda: check_number("rate", 1, 0, 1), ("rate", "at least 0", "below 1")),
        (lambda: check_number("rate", 0, 0, low_open=True), ("rate", "greater than 0")),
        (lambda: check_number("rate", float("nan"), 0), ("rate", "nan", "finite")),
        (lambda: check_number("rate", "1", 0), ("rate", "'1'", "finite")),
    ],
)
def test_messages_name_the_argument_its_value_and_what_is_expected(call, words):
    with pytest.raises(ValueError) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def test_valid_arguments_pass():
    check_choice("kind", "mean", ["mean"])
    check_bool("flag", False)
    check_int("count", 3, 3)
    check_number("rate", 0, 0, 1)
    check_number("rate", 0.5, 0, low_open=True)


def test_the_first_bad_entry_is_named_dense_and_sparse():
    x = torch.ones(4, 3)
    x[2, 1] = x[3, 0] = torch.nan
    for value in (x, (x - 1).to_sparse_csr()):
        with pytest.raises(NotFiniteError, match=r"targets\[0\]: given nan at row 2, column 1 \(2 such entries\)"):
            check_finite(torch.ones(4, 1), [value])


def test_a_sum_that_overflows_is_no_error():
    check_finite(torch.full((4, 1), 3e38), [])


def test_equal_rows():
    x = torch.ones(5, 2)
    assert all_rows_equal(x)
    x[2, 0] = 0  # the first and the last row are still equal
    assert not all_rows_equal(x)
    with pytest.raises(EqualRowsError, match="all 5 rows are equal"):
        check_rows_differ(5, equal=True)
    with pytest.raises(ValueError, match="1 row"):
        check_rows_differ(1, equal=False)
