"""Encoders for the kinds of column that a node table may have: each is fitted once and then applied to any table."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self, TypeAlias

import numpy as np
import polars as pl
import scipy.sparse
from numpy.typing import NDArray

from girl.errors import InputError
from girl.tables.cells import CellError, to_lists, to_numbers, to_text, to_times

#: Columns of x: dense, or sparse if most entries are zero.
Block: TypeAlias = NDArray[np.float32] | scipy.sparse.csr_matrix

#: Levels of a category, and entries of a bag, that get their own column; columns that words are hashed to.
MAX_LEVELS, MAX_ENTRIES, HASH_WIDTH = 100, 100_000, 4096


@dataclass(frozen=True)
class ColumnEncoder(ABC):
    """A fitted encoder of one column. The class method ``fit`` returns None if the column has no information."""

    kind: ClassVar[str]
    divisible: ClassVar[bool] = False
    """Whether each feature says something of its own, as the entries of a list do; the levels of a category do not."""
    column: str
    """Name of the column in the table."""
    flag_missing: bool
    """Whether values were missing when it was fitted, so that one more feature marks missing values."""

    @property
    @abstractmethod
    def feature_names(self) -> list[str]:
        """Names of the k features, without the one that marks missing values."""

    @abstractmethod
    def transform(self, column: pl.Series) -> tuple[Block, NDArray[np.bool_]]:
        """The features (n × k), and which of the n values are missing."""


@dataclass(frozen=True)
class Vector(ColumnEncoder):
    """Rows of k numbers, standardized to mean 0 and standard deviation 1 by position; missing ones become the mean."""

    kind = "vector"
    divisible = True
    keep_constant: ClassVar[bool] = False
    """Whether numbers that are all equal are kept if some are missing, so that these are marked."""
    mean: tuple[float, ...]
    std: tuple[float, ...]
    """0 for a position where all numbers are equal: it has no feature."""

    @classmethod
    def fit(cls, column: pl.Series) -> Self | None:
        values, missing = cls._matrix(column, None)
        moments = [mean_and_std(numbers[~np.isnan(numbers)]) for numbers in values.T]
        mean, std = tuple(m for m, _ in moments), tuple(s for _, s in moments)
        useful = any(std) or (cls.keep_constant and missing.any() and not missing.all())
        return cls(column.name, bool(missing.any()), mean, std) if useful else None

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.column} {position}" for position, std in enumerate(self.std) if std]

    def transform(self, column: pl.Series) -> tuple[Block, NDArray[np.bool_]]:
        values, missing = self._matrix(column, len(self.mean))
        out = np.empty((len(values), np.count_nonzero(self.std)), dtype=np.float32)
        for position, k in enumerate(np.flatnonzero(self.std)):
            out[:, position] = np.nan_to_num(standardize(values[:, k], self.mean[k], self.std[k]))
        return out, missing

    @staticmethod
    def _matrix(column: pl.Series, width: int | None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The numbers (n × width), NaN where one is missing, and which rows are missing."""
        if column.dtype == pl.String:
            column = to_lists(column, inner=pl.Float64())
        if isinstance(column.dtype, pl.Array):
            column = column.arr.to_list()
        if not isinstance(column.dtype, pl.List):
            raise InputError(f"column {column.name!r}: given {column.dtype}, expected a list of numbers in every row")
        missing = column.is_null()
        lengths = column.list.len()
        width = width or int(lengths.drop_nulls().mode().sort()[0])
        wrong = ((lengths != width) & ~missing).fill_null(False).arg_true()
        if len(wrong):
            row = int(wrong[0])
            raise CellError(row, column.name, f"has {lengths[row]} numbers, expected {width} as in the other rows")
        values = np.full((len(column), width), np.nan)
        flat = column.drop_nulls().explode().cast(pl.Float64).to_numpy().reshape(-1, width)
        values[~missing.to_numpy()] = np.where(np.isfinite(flat), flat, np.nan)
        return values, missing.to_numpy()


@dataclass(frozen=True)
class Number(Vector):
    """Numbers: rows of one."""

    kind = "number"
    keep_constant = True

    @property
    def feature_names(self) -> list[str]:
        return [self.column] if self.std[0] else []

    @staticmethod
    def _matrix(column: pl.Series, width: int | None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        values = to_numbers(column)
        return values.to_numpy()[:, None], values.is_null().to_numpy()


@dataclass(frozen=True)
class Boolean(ColumnEncoder):
    """True and false as 1 and 0; missing ones become 0."""

    kind = "boolean"

    @classmethod
    def fit(cls, column: pl.Series) -> Self | None:
        return cls(column.name, bool(column.null_count())) if column.n_unique() > 1 else None

    @property
    def feature_names(self) -> list[str]:
        return [self.column]

    def transform(self, column: pl.Series) -> tuple[Block, NDArray[np.bool_]]:
        values = to_numbers(column)
        return values.fill_null(0).to_numpy().astype(np.float32)[:, None], values.is_null().to_numpy()


@dataclass(frozen=True)
class Category(ColumnEncoder):
    """One-hot levels; rare levels share one feature, "other". A missing one has no level."""

    kind = "category"
    levels: tuple[str, ...]
    other: bool

    @classmethod
    def fit(cls, column: pl.Series) -> Self | None:
        """Keep the most frequent levels, each of at least two nodes and a thousandth of all nodes."""
        text = to_text(column).alias("level")
        counts = text.drop_nulls().value_counts(sort=False, name="n").sort(["n", "level"], descending=[True, False])
        fewest = max(2, text.count() // 1000)
        levels = counts.filter(pl.col("n") >= fewest).head(MAX_LEVELS)["level"].to_list()
        if not levels or (counts.height < 2 and not text.null_count()):
            return None
        return cls(column.name, bool(text.null_count()), tuple(levels), counts.height > len(levels))

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.column} = {level}" for level in self.levels] + [f"{self.column} = other"] * self.other

    def transform(self, column: pl.Series) -> tuple[Block, NDArray[np.bool_]]:
        text = to_text(column)
        width = len(self.levels)
        codes = {level: code for code, level in enumerate(self.levels)} | {None: -1}
        unseen = width if self.other else -1
        positions = text.replace_strict(codes, default=unseen, return_dtype=pl.Int64).to_numpy()
        return one_hot(positions, width + self.other), text.is_null().to_numpy()


#: Periods of time, with the position of a time in its period from 0 to 1.
_PERIODS: dict[str, Callable[[pl.Series], pl.Series]] = {
    "year": lambda t: (t.dt.ordinal_day() - 1) / 366,
    "week": lambda t: (t.dt.weekday() - 1) / 7,
    "day": lambda t: (t.dt.hour().cast(pl.Int64) * 3600 + t.dt.minute().cast(pl.Int64) * 60 + t.dt.second()) / 86_400,
}


@dataclass(frozen=True)
class Date(ColumnEncoder):
    """Times, standardized like numbers, and sine and cosine of the position in the year, week and day if it varies."""

    kind = "date"
    date_format: str | None
    """Of dates that are text."""
    mean: float
    std: float
    periods: tuple[str, ...]

    @classmethod
    def fit(cls, column: pl.Series, date_format: str | None = None) -> Self | None:
        every = to_times(column, date_format)
        times = every.drop_nulls()
        mean, std = mean_and_std((times.dt.epoch("us") / 1e6).to_numpy())
        periods = tuple(name for name, part in _PERIODS.items() if len(times) and part(times).n_unique() > 1)
        missing = bool(every.null_count())
        return cls(column.name, missing, date_format, mean, std, periods) if std or (missing and len(times)) else None

    @property
    def feature_names(self) -> list[str]:
        cycles = [f"{self.column} {part} of {name}" for name in self.periods for part in ("sine", "cosine")]
        return [self.column] * bool(self.std) + cycles

    def transform(self, column: pl.Series) -> tuple[Block, NDArray[np.bool_]]:
        times = to_times(column, self.date_format)
        missing = times.is_null().to_numpy()
        seconds = (times.dt.epoch("us") / 1e6).fill_null(self.mean).to_numpy()
        columns = [standardize(seconds, self.mean, self.std)] if self.std else []
        for name in self.periods:
            angle = 2 * np.pi * _PERIODS[name](times).cast(pl.Float64).fill_null(0).to_numpy()
            columns += [wave * ~missing for wave in (np.sin(angle), np.cos(angle))]
        return np.array(columns, dtype=np.float32).reshape(len(columns), len(times)).T, missing


@dataclass(frozen=True)
class Bag(ColumnEncoder):
    """Lists of features, given by number or name: one column for each feature.

    Rows are scaled to the norm √(mean number of entries), so that long lists do not dominate and entries are about 1.
    An entry is 1, or its value if the lists hold pairs (index, value).
    """

    kind = "list"
    divisible = True
    vocabulary: tuple[int, ...] | tuple[str, ...]
    norm: float

    @classmethod
    def fit(cls, column: pl.Series) -> Self | None:
        lists = to_lists(column)
        _, entry, _ = _entries(lists)
        counts = entry.alias("entry").value_counts(sort=False, name="n")
        frequent = counts.sort(["n", "entry"], descending=[True, False]).head(MAX_ENTRIES)["entry"]
        filled = int((lists.list.len() > 0).sum())
        if not filled:
            return None
        vocabulary = tuple(frequent.sort().to_list())
        return cls(column.name, bool(lists.null_count()), vocabulary, math.sqrt(len(entry) / filled))

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.column} {entry}" for entry in self.vocabulary]

    def transform(self, column: pl.Series) -> tuple[Block, NDArray[np.bool_]]:
        lists = to_lists(column, inner=pl.Series(self.vocabulary[:1]).dtype)
        row, entry, value = _entries(lists)
        width = len(self.vocabulary)
        codes = pl.DataFrame({"entry": self.vocabulary, "code": np.arange(width)})
        code = entry.alias("entry").to_frame().join(codes, on="entry", how="left", maintain_order="left")["code"]
        inside = code.is_not_null().to_numpy()
        parts = (value[inside], (row[inside], code.drop_nulls().to_numpy()))
        matrix = scipy.sparse.csr_matrix(parts, shape=(len(lists), width), dtype=np.float32)
        return scale_rows(matrix, self.norm), lists.is_null().to_numpy()


@dataclass(frozen=True)
class Text(ColumnEncoder):
    """Words, hashed to a fixed number of features; rows are scaled like those of a bag."""

    kind = "text"
    divisible = True
    width: int
    norm: float

    @classmethod
    def fit(cls, column: pl.Series) -> Self | None:
        counts = np.diff(_hash_words(column, HASH_WIDTH).indptr)
        if not counts.any():
            return None
        missing = bool(to_text(column).is_null().any())
        return cls(column.name, missing, HASH_WIDTH, math.sqrt(counts[counts > 0].mean()))

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.column} word {position}" for position in range(self.width)]

    def transform(self, column: pl.Series) -> tuple[Block, NDArray[np.bool_]]:
        return scale_rows(_hash_words(column, self.width), self.norm), to_text(column).is_null().to_numpy()


_ENCODERS: tuple[type[ColumnEncoder], ...] = (Number, Boolean, Category, Date, Bag, Vector, Text)
KINDS = {encoder.kind: encoder for encoder in _ENCODERS}


def mean_and_std(values: NDArray[np.float64]) -> tuple[float, float]:
    """Mean and standard deviation, which is 0 only if all values are equal; neither overflows."""
    if not len(values):
        return 0.0, 0.0
    low, high = values.min(), values.max()
    if low == high:
        return float(low), 0.0
    unit = max(abs(low), abs(high))
    scaled = values / unit
    std = float(scaled.std()) * unit
    return float(scaled.mean() * unit), std if std and math.isfinite(std) else float(high / 2 - low / 2)


def standardize(values: NDArray[np.float64], mean: float, std: float) -> NDArray[np.float32]:
    """(values - mean) / std."""
    # Values of another table than the fitted one may be beyond the range of float32.
    limit = float(np.finfo(np.float32).max)
    return np.clip(values / std - mean / std, -limit, limit).astype(np.float32)


def one_hot(positions: NDArray[np.int64], width: int) -> scipy.sparse.csr_matrix:
    """A 1 at the position of each row, n × width; none if it is negative."""
    used = positions >= 0
    start = np.concatenate([[0], np.cumsum(used)])
    parts = (np.ones(int(start[-1]), np.float32), positions[used], start)
    return scipy.sparse.csr_matrix(parts, shape=(len(positions), width))


def scale_rows(matrix: scipy.sparse.csr_matrix, norm: float) -> scipy.sparse.csr_matrix:
    """Rows scaled in place to one norm; an empty row stays empty."""
    matrix.sum_duplicates()
    norms = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    factor = np.divide(norm, norms, out=np.zeros_like(norms), where=norms > 0).astype(np.float32)
    matrix.data *= np.repeat(factor, np.diff(matrix.indptr))
    return matrix


def _entries(lists: pl.Series) -> tuple[NDArray[np.int64], pl.Series, NDArray[np.float32]]:
    """Row, entry and value of everything in the lists."""
    frame = pl.DataFrame({"row": np.arange(len(lists)), "entry": lists})
    frame = frame.filter(pl.col("entry").list.len() > 0).explode("entry").drop_nulls("entry")
    entry, value = frame["entry"], np.ones(frame.height, dtype=np.float32)
    if isinstance(entry.dtype, pl.Struct):
        fields = entry.struct.unnest()
        entry, value = fields.to_series(0), fields.to_series(1).cast(pl.Float32).to_numpy()
    return frame["row"].to_numpy(), entry, value


def _hash_words(column: pl.Series, width: int) -> scipy.sparse.csr_matrix:
    from sklearn.feature_extraction.text import HashingVectorizer

    hashing = HashingVectorizer(n_features=width, binary=True, norm=None, alternate_sign=False, dtype=np.float32)
    return scipy.sparse.csr_matrix(hashing.transform(to_text(column).fill_null("").to_list()))
