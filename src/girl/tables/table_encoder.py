"""A fitted encoder of node tables: columns in, a feature matrix out, and the same for any later table."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse
from numpy.typing import NDArray

from girl.errors import InputError
from girl.tables.cells import guess_date_format, is_time, mostly_numbers, to_lists, to_text
from girl.tables.column_encoders import (
    KINDS,
    Bag,
    Block,
    Boolean,
    Category,
    ColumnEncoder,
    Date,
    Number,
    Text,
    Vector,
    one_hot,
)
from girl.tables.column_names import is_id_name
from girl.tables.messages import listed

#: Version of the saved form and of the features that it gives.
FORMAT = 2

#: The feature of nodes that have no row in the table.
ONLY_IN_EDGES = "only in edges"

#: Mean number of words per cell from which a column is text, not a category.
_WORDS = 4
#: A column with at most this many different texts may be a category even if most cells differ, as in small tables.
_FEW = 20

_CONSTANT = "the same for all nodes"


@dataclass(frozen=True)
class TableEncoder:
    """Fitted encoders of the columns of a node table, and one factor for all features.

    Sparse blocks stay sparse. The factor makes the mean squared norm of a row equal to the number of features, since
    graph encoders expect entries of about 1.
    """

    encoders: tuple[ColumnEncoder, ...]
    flag_absent: bool = False
    """Whether nodes without a row in the table were there when fitted, so that one more feature marks them."""
    scale: float = 1.0
    skipped: dict[str, str] = field(default_factory=dict)
    """Columns that are not used, and why."""

    @classmethod
    def fit_transform(
        cls, table: pl.DataFrame, columns: Collection[str] = (), text: Collection[str] = (), absent: int = 0
    ) -> tuple[TableEncoder, Block, int]:
        """Fit an encoder to a table.

        Args:
            table: one row for each node that has one.
            columns: columns that the user named; they are used even if they look like ids.
            text: columns whose words are used.
            absent: number of nodes without a row.

        Returns:
            The encoder, the features (n × d) and the number of missing values that were filled.
        """
        encoders: list[ColumnEncoder] = []
        skipped: dict[str, str] = {}
        for column in table:
            encoder = _fit(column, named=column.name in columns, text=column.name in text)
            if isinstance(encoder, str):
                skipped[column.name] = encoder
            else:
                encoders.append(encoder)
        unscaled = cls(tuple(encoders), bool(absent and encoders), 1.0, skipped)
        x, filled = unscaled.transform(table, absent)
        entries = x.ravel() if isinstance(x, np.ndarray) else x.data
        squares = float(np.einsum("i,i->", entries, entries, dtype=np.float64))
        scale = float(np.sqrt(x.shape[0] * x.shape[1] / squares)) if squares else 1.0
        x *= np.float32(scale)
        return replace(unscaled, scale=scale), x, filled

    def transform(self, table: pl.DataFrame, absent: int = 0) -> tuple[Block, int]:
        """The features of a table, n × d, and the number of missing values that were filled.

        Rows of nodes that are absent from the table come last. The features are float32: a scipy CSR matrix if any
        block is sparse, else an array.
        """
        missing_columns = [repr(name) for name in self.columns if name not in table.columns]
        if missing_columns:
            word = "column" if len(missing_columns) == 1 else "columns"
            raise InputError(
                f"lacks the {word} {listed(missing_columns)}, which the model was trained with; add them (empty cells "
                "will do) or train again without"
            )
        blocks: list[Block] = []
        filled = 0
        for encoder in self.encoders:
            block, missing = _transform(encoder, table[encoder.column])
            blocks.append(block)
            filled += int(missing.sum())
            if encoder.flag_missing:
                blocks.append(one_hot(np.where(missing, 0, -1), 1))
        x = _concatenate(blocks, table.height)
        if absent and isinstance(x, np.ndarray):
            x = np.pad(x, ((0, absent), (0, 0)))
        elif absent:
            x.resize((table.height + absent, x.shape[1]))
        if self.flag_absent:
            flag = one_hot(np.where(np.arange(table.height + absent) < table.height, -1, 0), 1)
            x = _concatenate([x, flag], table.height + absent)
        x *= np.float32(self.scale)
        return x, filled

    @property
    def feature_names(self) -> list[str]:
        """The names of the d features."""
        names = [n for e in self.encoders for n in e.feature_names + [f"{e.column} missing"] * e.flag_missing]
        return names + [ONLY_IN_EDGES] * self.flag_absent

    @property
    def feature_groups(self) -> NDArray[np.int64]:
        """A number for each feature (d); features with the same number are parts of one value, such as a category."""
        sizes: list[int] = []
        for encoder in self.encoders:
            count = len(encoder.feature_names)
            sizes += [1] * (count + encoder.flag_missing) if encoder.divisible else [count + encoder.flag_missing]
        sizes += [1] * self.flag_absent
        return np.repeat(np.arange(len(sizes)), sizes)

    @property
    def columns(self) -> list[str]:
        """The columns of the table that are used."""
        return [encoder.column for encoder in self.encoders]

    def new_columns(self, columns: Sequence[str]) -> list[str]:
        """The columns that were not in the fitted table."""
        return [name for name in columns if name not in self.columns and name not in self.skipped]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        encoders = [{"kind": encoder.kind, **asdict(encoder)} for encoder in self.encoders]
        values: dict[str, Any] = json.loads(json.dumps({"format": FORMAT, **asdict(self), "encoders": encoders}))
        return values

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> TableEncoder:
        """From the result of :meth:`to_dict`."""
        if saved.get("format") != FORMAT:
            raise InputError(
                f"encoding: of format {saved.get('format')}, expected {FORMAT}: it was written by another version of "
                "girl; train again, or use that version"
            )
        try:
            encoders = []
            for values in saved["encoders"]:
                fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
                encoders.append(KINDS[fields.pop("kind")](**fields))
            return cls(tuple(encoders), bool(saved["flag_absent"]), float(saved["scale"]), dict(saved["skipped"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"encoding: is damaged ({type(error).__name__}: {error}); train again") from error


def _fit(column: pl.Series, named: bool, text: bool) -> ColumnEncoder | str:
    """The encoder of a column, or the reason why it is not used."""
    kind = column.dtype
    if text:
        return Text.fit(column) or "no words in it"
    if column.null_count() == len(column):
        return "empty"
    if kind == pl.Boolean:
        return Boolean.fit(column) or _CONSTANT
    if kind.is_numeric() or kind == pl.Duration:
        if not named and is_id_name(column.name) and kind.is_integer() and column.n_unique() == len(column) > 1:
            return "looks like an id; --columns with its name uses it as a number"
        return Number.fit(column) or _CONSTANT
    if is_time(column):
        return Date.fit(column) or _CONSTANT
    if isinstance(kind, (pl.Categorical, pl.Enum)):
        return Category.fit(column) or "no level that two nodes share, or only one"
    if kind == pl.String:
        return _fit_text(column)
    return _fit_lists(column)


def _fit_text(column: pl.Series) -> ColumnEncoder | str:
    """A column of text may hold numbers, lists, dates, categories or sentences."""
    cells = to_text(column).drop_nulls()
    if not len(cells):
        return "empty"
    if mostly_numbers(column):
        return Number.fit(column) or _CONSTANT
    if bool(cells.str.contains(r"^\[.*\]$").all()):
        fractions = bool(cells.str.contains(r"[0-9]\.[0-9]").any())
        return _fit_lists(to_lists(column, inner=pl.Float64()) if fractions else column)
    if (date_format := guess_date_format(column)) is not None:
        return Date.fit(column, date_format) or _CONSTANT
    distinct = cells.n_unique()
    if distinct == 1 and len(cells) == len(column):
        return _CONSTANT
    sentences = float(cells.str.count_matches(r"\S+").mean() or 0) >= _WORDS  # type: ignore[arg-type]
    if distinct > 1 and (sentences or distinct > max(_FEW, len(cells) / 2)):
        return "text; --text with its name uses its words"
    return Category.fit(column) or "no level that two nodes share; --text with its name uses its words"


def _fit_lists(column: pl.Series) -> ColumnEncoder | str:
    inner = getattr(column.dtype, "inner", None)
    pairs = isinstance(inner, pl.Struct) and len(inner.fields) == 2
    if inner is not None and (inner.is_float() or (isinstance(column.dtype, pl.Array) and inner.is_numeric())):
        return Vector.fit(column) or _CONSTANT
    lists = isinstance(column.dtype, pl.List) and inner is not None
    if column.dtype == pl.String or (lists and (pairs or inner.is_integer() or inner == pl.String)):  # type: ignore[union-attr]
        return Bag.fit(column) or "all lists are empty"
    return f"{column.dtype} cannot be used"


def _transform(encoder: ColumnEncoder, column: pl.Series) -> tuple[Block, Any]:
    try:
        return encoder.transform(column)
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"column {column.name!r}: given {column.dtype}, expected what the model was trained with: a {encoder.kind}"
        ) from error


def _concatenate(blocks: Sequence[Block], rows: int) -> Block:
    """The blocks side by side: sparse if one of them is."""
    if any(scipy.sparse.issparse(block) for block in blocks):
        matrices = [scipy.sparse.csr_matrix(block) for block in blocks]
        return scipy.sparse.csr_matrix(scipy.sparse.hstack(matrices, format="csr", dtype=np.float32))
    return np.hstack([np.empty((rows, 0), dtype=np.float32), *blocks])
