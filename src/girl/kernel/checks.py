"""Checks of arguments. Every message says what was given, what is expected and how to fix it."""

import difflib
import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real

import torch
from torch import Tensor


class NotFiniteError(ValueError):
    """NaN or infinity where finite numbers are expected."""


class EqualRowsError(ValueError):
    """All samples are equal, so they cannot explain anything."""


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raise unless ``value`` is one of ``choices``; the message suggests the closest one."""
    choices = tuple(choices)
    if value in choices:
        return
    closest = difflib.get_close_matches(str(value), choices, n=1)
    hint = f"; did you mean {closest[0]!r}?" if closest else ""
    raise ValueError(f"{name}: given {value!r}, expected one of {', '.join(map(repr, choices))}{hint}")


def check_bool(name: str, value: object) -> None:
    """Raise unless ``value`` is a bool: the string "false" would count as true."""
    if not isinstance(value, bool):
        raise ValueError(f"{name}: given {value!r}, expected true or false")


def check_int(name: str, value: object, minimum: int) -> None:
    """Raise unless ``value`` is a whole number of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < minimum:
        raise ValueError(f"{name}: given {value!r}, expected a whole number of at least {minimum}")


def check_number(name: str, value: object, low: float, high: float = math.inf, *, low_open: bool = False) -> None:
    """Raise unless ``value`` is a finite number in [low, high), or in (low, high) if ``low_open``."""
    number = math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    if math.isfinite(number) and (low < number < high or (not low_open and number == low)):
        return
    bound = f"greater than {low:g}" if low_open else f"of at least {low:g}"
    above = "" if math.isinf(high) else f" and below {high:g}"
    raise ValueError(f"{name}: given {value!r}, expected a finite number {bound}{above}")


def check_samples(x: object) -> Tensor:
    """Return the samples (n x d) if they are a dense floating matrix."""
    x = _check_matrix("x", x)
    if x.layout != torch.strided:
        raise ValueError(f"x: given layout {x.layout}, expected a dense tensor; only targets may be sparse (CSR)")
    return x


def check_target(y: object, x: Tensor, position: int) -> Tensor:
    """Return target number ``position`` (n x m) if it is a floating matrix, dense or CSR, with the rows of ``x``."""
    name = f"targets[{position}]"
    y = _check_matrix(name, y)
    if y.layout not in (torch.strided, torch.sparse_csr):
        raise ValueError(f"{name}: given layout {y.layout}, expected a dense or a CSR tensor; call .to_sparse_csr()")
    if y.shape[0] != x.shape[0]:
        raise ValueError(
            f"{name}: given {y.shape[0]} rows, expected {x.shape[0]} as in x: row i of the target belongs to row i of x"
        )
    if y.device != x.device:
        raise ValueError(f"{name}: given on {y.device}, expected on {x.device} as x; call .to({str(x.device)!r})")
    if y.layout == torch.sparse_csr and y.requires_grad:
        raise ValueError(f"{name}: given a CSR tensor that requires a gradient, expected a constant; call .detach()")
    return y


def _check_matrix(name: str, value: object) -> Tensor:
    if not isinstance(value, Tensor):
        raise ValueError(f"{name}: given {type(value).__name__}, expected a torch.Tensor; girl.rho takes arrays too")
    if value.dim() != 2:
        fix = "; add a column axis with [:, None]" if value.dim() == 1 else ""
        raise ValueError(f"{name}: given shape {tuple(value.shape)}, expected two axes (rows, columns){fix}")
    if not value.is_floating_point():
        raise ValueError(f"{name}: given dtype {value.dtype}, expected a floating type; call .float() or .double()")
    if value.shape[1] < 1:
        raise ValueError(f"{name}: given shape {tuple(value.shape)}, expected at least one column")
    return value


def all_rows_equal(x: Tensor) -> bool:
    """Whether all rows of x (n x d) are equal."""
    # Comparing the first and last row is enough for almost every matrix; the full comparison is rare.
    return x.shape[0] > 1 and torch.equal(x[-1], x[0]) and bool((x == x[0]).all())


def check_rows_differ(rows: int, equal: bool) -> None:
    """Raise unless there are two rows or more, not all of them equal."""
    if rows < 2:
        raise ValueError(f"x: given {rows} row(s), expected at least 2: one row explains nothing")
    if equal:
        raise EqualRowsError(
            f"x: all {rows} rows are equal, expected at least two different ones: no bandwidth exists and a "
            "constant explains nothing. If x is a layer's output, the layer has collapsed: lower the learning rate, "
            "or look for inputs that are all zero"
        )


def check_finite(x: Tensor, targets: Sequence[Tensor]) -> None:
    """Raise unless all entries are finite."""
    for position, tensor in enumerate((x.detach(), *(y.detach() for y in targets))):
        sparse = tensor.layout == torch.sparse_csr
        values = tensor.values() if sparse else tensor
        # A sum with NaN or infinity in it is not finite, so one cheap reduction passes good input. A sum of finite
        # entries can also overflow; the elementwise test tells the two cases apart.
        if bool(torch.isfinite(values.sum())) or bool(torch.isfinite(values).all()):
            continue
        bad = ~torch.isfinite(values)
        positions = tensor.to_sparse_coo().indices().T[bad] if sparse else bad.nonzero()
        row, column = positions[0].tolist()
        name = f"targets[{position - 1}]" if position else "x"
        raise NotFiniteError(
            f"{name}: given {float(values[bad][0])} at row {row}, column {column} ({len(positions)} such entries), "
            "expected finite numbers; drop or fill them first"
        )
