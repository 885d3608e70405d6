"""Checks of what callers pass in: every message says what was given, what is expected and how to mend it."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real

import torch
from torch import Tensor


class NotFiniteError(ValueError):
    """NaN or infinity where numbers are expected."""


class EqualRowsError(ValueError):
    """All samples are the same: nothing can be told apart by them."""


def check_choice(name: str, given: object, choices: Iterable[str]) -> None:
    """Raise unless ``given`` is one of ``choices``, with the nearest one as a hint."""
    choices = tuple(choices)
    if given in choices:
        return
    near = difflib.get_close_matches(str(given), choices, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"{name}: given {given!r}, expected one of {', '.join(map(repr, choices))}{hint}")


def check_truth(name: str, given: object) -> None:
    """Raise unless ``given`` is true or false: a word such as "false" would count as true."""
    if not isinstance(given, bool):
        raise ValueError(f"{name}: given {given!r}, expected true or false")


def check_whole(name: str, given: object, least: int) -> None:
    """Raise unless ``given`` is a whole number of at least ``least``."""
    if isinstance(given, bool) or not isinstance(given, Integral) or int(given) < least:
        raise ValueError(f"{name}: given {given!r}, expected a whole number of at least {least}")


def check_number(name: str, given: object, low: float, high: float = math.inf, *, low_open: bool = False) -> None:
    """Raise unless ``given`` is a finite number in [low, high), or (low, high) if ``low_open``."""
    number = math.nan if isinstance(given, bool) or not isinstance(given, Real) else float(given)
    if math.isfinite(number) and (low < number < high or (not low_open and number == low)):
        return
    bound = f"greater than {low:g}" if low_open else f"of at least {low:g}"
    above = "" if math.isinf(high) else f" and below {high:g}"
    raise ValueError(f"{name}: given {given!r}, expected a finite number {bound}{above}")


def check_samples(x: object) -> Tensor:
    """The samples as given, n x d: dense and floating."""
    x = _check_matrix("x", x)
    if x.layout != torch.strided:
        raise ValueError(f"x: given layout {x.layout}, expected a dense tensor; only targets may be sparse (CSR)")
    if x.shape[1] < 1:
        raise ValueError(f"x: given shape {tuple(x.shape)}, expected at least one column")
    return x


def check_finite(x: Tensor, targets: Sequence[Tensor]) -> None:
    """Raise unless all entries are finite."""
    _check_finite("x", x.detach())
    for position, y in enumerate(targets):
        _check_finite(f"targets[{position}]", y.detach())


def check_spread(rows: int, equal: bool) -> None:
    """Raise unless there are two rows or more, not all of them equal."""
    if rows < 2:
        raise ValueError(f"x: given {rows} row(s), expected at least 2: one row explains nothing")
    if equal:
        raise EqualRowsError(
            f"x: all {rows} rows are equal, expected at least two different ones: no bandwidth exists and a "
            "constant explains nothing. If x is a layer's output, the layer has collapsed: lower the learning rate, "
            "or look for inputs that are all zero"
        )


def all_equal(x: Tensor) -> bool:
    """Whether all rows are the same."""
    # Only a matrix whose last row equals its first can have all rows equal: the full comparison is rare.
    return x.shape[0] > 1 and torch.equal(x[-1], x[0]) and bool((x == x[0]).all())


def check_target(y: object, x: Tensor, position: int) -> Tensor:
    """The ``position``-th target as given, n x m: dense or CSR, floating, with the rows of ``x``."""
    name = f"targets[{position}]"
    y = _check_matrix(name, y)
    if y.layout not in (torch.strided, torch.sparse_csr):
        raise ValueError(f"{name}: given layout {y.layout}, expected a dense or a CSR tensor; call .to_sparse_csr()")
    if y.shape[0] != x.shape[0]:
        raise ValueError(
            f"{name}: given {y.shape[0]} rows, expected {x.shape[0]} as in x: row i of the target belongs to row i of x"
        )
    if y.shape[1] < 1:
        raise ValueError(f"{name}: given shape {tuple(y.shape)}, expected at least one column")
    if y.device != x.device:
        raise ValueError(f"{name}: given on {y.device}, expected on {x.device} as x; call .to({str(x.device)!r})")
    if y.layout == torch.sparse_csr and y.requires_grad:
        raise ValueError(f"{name}: given a CSR tensor that requires a gradient, expected a constant; call .detach()")
    return y


def _check_matrix(name: str, given: object) -> Tensor:
    if not isinstance(given, Tensor):
        raise ValueError(f"{name}: given {type(given).__name__}, expected a torch.Tensor; girl.rho takes arrays too")
    if given.dim() != 2:
        fix = "; add a column axis with [:, None]" if given.dim() == 1 else ""
        raise ValueError(f"{name}: given shape {tuple(given.shape)}, expected two axes (rows, columns){fix}")
    if not given.is_floating_point():
        raise ValueError(f"{name}: given dtype {given.dtype}, expected a floating type; call .float() or .double()")
    return given


def _check_finite(name: str, given: Tensor) -> None:
    values = given.values() if given.layout == torch.sparse_csr else given
    # NaN and infinity survive a sum, so one cheap reduction clears the usual case; a sum that overflowed by itself
    # is told from bad entries by the elementwise look below.
    if bool(torch.isfinite(values.sum())):
        return
    bad = ~torch.isfinite(values)
    if not bool(bad.any()):
        return
    first = bad.nonzero()[0]
    if given.layout == torch.sparse_csr:
        at = int(first[0])
        row = int(torch.searchsorted(given.crow_indices(), at, right=True)) - 1
        where, value = (row, int(given.col_indices()[at])), float(values[at])
    else:
        where = (int(first[0]), int(first[1]))
        value = float(values[where])
    raise NotFiniteError(
        f"{name}: given {value} at row {where[0]}, column {where[1]} ({int(bad.sum())} such entries), "
        "expected finite numbers; drop or fill them first"
    )
