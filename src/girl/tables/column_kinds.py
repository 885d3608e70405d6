"""The kinds of column that a node table may have, and how each becomes numbers: fitted once, replayed for ever."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias, get_args

import numpy as np
import polars as pl
import scipy.sparse
from numpy.typing import NDArray

from girl.errors import InputError
from girl.tables.values import CellError, numbers, shown, times, words

#: Columns of x: dense, or sparse where most entries are zero.
Block: TypeAlias = NDArray[np.float32] | scipy.sparse.csr_matrix

#: Levels of a category that get a column of their own.
LEVELS = 100
#: Entries of a bag that get a column of their own.
VOCABULARY = 100_000
#: Columns that words are hashed to.
WORDS = 4096


# Every kind has ``column``, its name in the table; ``flag``, whether values were missing when it was fitted, so that
# one more column says where; ``names`` of the columns it becomes, without the flag; and ``encode``, which gives these
# columns (n × k) and where values are missing.


@dataclass(frozen=True)
class Number:
    """Numbers, shifted and scaled to mean 0 and spread 1; a missing one is the mean."""

    kind: ClassVar[str] = "number"
    column: str
    mean: float
    spread: float
    """0: all are equal, and only the flag says anything."""
    flag: bool

    @classmethod
    def fit(cls, column: pl.Series) -> Number | None:
        """Learn mean and spread; None if nothing varies."""
        values = numbers(column)
        mean, spread = moments(values.drop_nulls().to_numpy())
        flag = bool(values.null_count())
        return cls(column.name, mean, spread, flag) if spread or (flag and values.count()) else None

    @property
    def names(self) -> list[str]:
        return [self.column] if self.spread else []

    def encode(self, column: pl.Series) -> tuple[Block, NDArray[np.bool_]]:
        values = numbers(column)
        missing = values.is_null().to_numpy()
        return scaled(values.fill_null(self.mean).to_numpy(), self.mean, self.spread), missing


@dataclass(frozen=True)
class Truth:
    """True or false, as 1 and 0; a missing one is 0."""

    kind: ClassVar[str] = "boolean"
    column: str
    flag: bool

    @classmethod
    def fit(cls, column: pl.Series) -> Truth | None:
        """None if nothing varies."""
        return cls(column.name, bool(column.null_count())) if column.n_unique() > 1 else None

    @property
    def names(self) -> list[str]:
        return [self.column]

    def encode(self, column: pl.Series) -> tuple[Block, NDArray[np.bool_]]:
        values = numbers(column)
        return values.fill_null(0).to_numpy().astype(np.float32)[:, None], values.is_null().to_numpy()


@dataclass(frozen=True)
class Category:
    """A column of 0 and 1 for each level; rare ones are one level, "other". A missing one has no level."""

    kind: ClassVar[str] = "category"
    column: str
    levels: tuple[str, ...]
    other: bool
    flag: bool

    @classmethod
    def fit(cls, column: pl.Series) -> Category | None:
        """Learn the levels: the most frequent, each of two nodes and a thousandth of them at least."""
        text = words(column).alias("level")
        counts = text.drop_nulls().value_counts(sort=False, name="n").sort(["n", "level"], descending=[True, False])
        few = max(2, text.count() // 1000)
        kept = counts.filter(pl.col("n") >= few).head(LEVELS)["level"].to_list()
        if not kept or (counts.height < 2 and not text.null_count()):
            return None
        return cls(column.name, tuple(kept), counts.height > len(kept), bool(text.null_count()))

    @property
    def names(self) -> list[str]:
        return [f"{self.column} = {level}" for level in self.levels] + [f"{self.column} = other"] * self.other

    def encode(self, column: pl.Series) -> tuple[Block, NDArray[np.bool_]]:
        text = words(column)
        missing = text.is_null().to_numpy()
        width = len(self.levels)
        found = text.replace_strict(list(self.levels), list(range(width)), default=width, return_dtype=pl.Int64)
        place = found.to_numpy().copy()
        place[missing] = -1
        place[place == width] = width if self.other else -1  # a level that the fit never saw
        return one_hot(place, width + self.other), missing


#: Parts of a time that come round again, as shares of a round.
_ROUNDS: dict[str, Callable[[pl.Series], pl.Series]] = {
    "year": lambda t: (t.dt.ordinal_day() - 1) / 366,
    "week": lambda t: (t.dt.weekday() - 1) / 7,
    "day": lambda t: (t.dt.hour().cast(pl.Int64) * 3600 + t.dt.minute().cast(pl.Int64) * 60 + t.dt.second()) / 86_400,
}


@dataclass(frozen=True)
class Date:
    """Times: scaled like numbers, and sine and cosine of the place in the year, week and day where that varies."""

    kind: ClassVar[str] = "date"
    column: str
    form: str | None
    """How dates are written, if they are text."""
    mean: float
    spread: float
    rounds: tuple[str, ...]
    flag: bool

    @classmethod
    def fit(cls, column: pl.Series, form: str | None) -> Date | None:
        """None if nothing varies."""
        found = times(column, form)
        some = found.drop_nulls()
        mean, spread = moments(_seconds(some).to_numpy())
        flag = bool(found.null_count())
        rounds = tuple(name for name, part in _ROUNDS.items() if len(some) and part(some).n_unique() > 1)
        return cls(column.name, form, mean, spread, rounds, flag) if spread or (flag and len(some)) else None

    @property
    def names(self) -> list[str]:
        rounds = [f"{self.column} {part} of {name}" for name in self.rounds for part in ("sine", "cosine")]
        return [self.column] * bool(self.spread) + rounds

    def encode(self, column: pl.Series) -> tuple[Block, NDArray[np.bool_]]:
        found = times(column, self.form)
        missing = found.is_null().to_numpy()
        columns = [scaled(_seconds(found).fill_null(self.mean).to_numpy(), self.mean, self.spread)]
        for name in self.rounds:
            angle = 2 * np.pi * _ROUNDS[name](found).cast(pl.Float64).fill_null(0).to_numpy()
            columns += [(turn * ~missing).astype(np.float32)[:, None] for turn in (np.sin(angle), np.cos(angle))]
        return np.hstack(columns), missing


@dataclass(frozen=True)
class Bag:
    """Lists of features, by number or name: a column for each feature.

    A row is scaled to the length √(mean number of entries), so that a long list does not shout down short ones and an
    entry is about 1 in size. An entry is 1, or its value where lists hold pairs (index, value).
    """

    kind: ClassVar[str] = "list"
    column: str
    vocabulary: tuple[int, ...] | tuple[str, ...]
    length: float
    flag: bool

    @classmethod
    def fit(cls, column: pl.Series) -> Bag | None:
        """Learn which features there are; None if there are none."""
        lists = bags(column)
        _, entry, _ = _entries(lists)
        counts = entry.alias("entry").value_counts(sort=False, name="n")
        kept = counts.sort(["n", "entry"], descending=[True, False]).head(VOCABULARY)["entry"].sort()
        full = int((lists.list.len() > 0).sum())
        if not full:
            return None
        flag = bool(lists.null_count())
        return cls(column.name, tuple(kept.to_list()), math.sqrt(len(entry) / full), flag)

    @property
    def names(self) -> list[str]:
        return [f"{self.column} {entry}" for entry in self.vocabulary]

    def encode(self, column: pl.Series) -> tuple[Block, NDArray[np.bool_]]:
        lists = bags(column, wanted=pl.Series(self.vocabulary[:1]).dtype)
        row, entry, value = _entries(lists)
        width = len(self.vocabulary)
        known = pl.DataFrame({"entry": self.vocabulary, "place": np.arange(width)})
        place = entry.alias("entry").to_frame().join(known, on="entry", how="left", maintain_order="left")["place"]
        seen = place.is_not_null().to_numpy()
        parts = (value[seen], (row[seen], place.drop_nulls().to_numpy()))
        matrix = scipy.sparse.csr_matrix(parts, shape=(len(lists), width), dtype=np.float32)
        return to_length(matrix, self.length), lists.is_null().to_numpy()


@dataclass(frozen=True)
class Vector:
    """Rows of numbers of one length, each place scaled like a column of numbers."""

    kind: ClassVar[str] = "vector"
    column: str
    mean: tuple[float, ...]
    spread: tuple[float, ...]
    flag: bool

    @classmethod
    def fit(cls, column: pl.Series) -> Vector | None:
        """Learn mean and spread of every place; None if nothing varies."""
        values, missing = _matrix(column, None)
        found = [moments(values[~np.isnan(values[:, k]), k]) for k in range(values.shape[1])]
        mean, spread = tuple(m for m, _ in found), tuple(s for _, s in found)
        return cls(column.name, mean, spread, bool(missing.any())) if any(spread) else None

    @property
    def names(self) -> list[str]:
        return [f"{self.column} {place}" for place, spread in enumerate(self.spread) if spread]

    def encode(self, column: pl.Series) -> tuple[Block, NDArray[np.bool_]]:
        values, missing = _matrix(column, len(self.mean))
        out = np.empty((len(values), len(self.names)), dtype=np.float32)
        for place, k in enumerate(np.flatnonzero(self.spread)):
            out[:, place] = np.nan_to_num(scaled(values[:, k], self.mean[k], self.spread[k])[:, 0])
        return out, missing


@dataclass(frozen=True)
class Text:
    """Words, hashed to a fixed number of columns; rows scaled as those of a bag."""

    kind: ClassVar[str] = "text"
    column: str
    width: int
    length: float
    flag: bool

    @classmethod
    def fit(cls, column: pl.Series) -> Text | None:
        """Learn how many different words a row has; None if there are no words."""
        missing = words(column).is_null()
        counts = np.diff(_hashed(column, WORDS).indptr)
        if not counts.any():
            return None
        return cls(column.name, WORDS, math.sqrt(counts[counts > 0].mean()), bool(missing.any()))

    @property
    def names(self) -> list[str]:
        return [f"{self.column} word {place}" for place in range(self.width)]

    def encode(self, column: pl.Series) -> tuple[Block, NDArray[np.bool_]]:
        return to_length(_hashed(column, self.width), self.length), words(column).is_null().to_numpy()


Kind: TypeAlias = Number | Truth | Category | Date | Bag | Vector | Text
KINDS: dict[str, type[Kind]] = {kind.kind: kind for kind in get_args(Kind)}


def moments(values: NDArray[np.float64]) -> tuple[float, float]:
    """Mean and spread; the spread is 0 only if all values are equal, and neither overflows."""
    if not len(values):
        return 0.0, 0.0
    low, high = values.min(), values.max()
    if low == high:
        return float(low), 0.0
    unit = max(abs(low), abs(high))
    shares = values / unit
    mean = shares.mean()
    spread = float(shares.std()) * unit
    return float(mean * unit), spread if spread and math.isfinite(spread) else float(high / 2 - low / 2)


def scaled(values: NDArray[np.float64], mean: float, spread: float) -> NDArray[np.float32]:
    """(values - mean) / spread as a column, n × 1; n × 0 if there is no spread."""
    if not spread:
        return np.empty((len(values), 0), dtype=np.float32)
    # Values of a replay may lie further out than float32 reaches.
    limit = float(np.finfo(np.float32).max)
    return np.clip(values / spread - mean / spread, -limit, limit).astype(np.float32)[:, None]


def one_hot(place: NDArray[np.int64], width: int) -> scipy.sparse.csr_matrix:
    """A 1 at ``place`` of each row, n × width; none where it is negative."""
    some = place >= 0
    start = np.concatenate([[0], np.cumsum(some)])
    return scipy.sparse.csr_matrix((np.ones(int(start[-1]), np.float32), place[some], start), shape=(len(place), width))


def to_length(matrix: scipy.sparse.csr_matrix, length: float) -> scipy.sparse.csr_matrix:
    """Rows scaled to one length; an empty row stays empty."""
    matrix.sum_duplicates()
    norm = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    factor = np.divide(length, norm, out=np.zeros_like(norm), where=norm > 0).astype(np.float32)
    matrix.data *= np.repeat(factor, np.diff(matrix.indptr))
    return matrix


def bags(column: pl.Series, wanted: pl.DataType | None = None) -> pl.Series:
    """A column of lists, also where they are written as JSON: [3, 17]."""
    if column.dtype == pl.String:
        inner = wanted or (pl.String() if bool(column.str.contains('"', literal=True).any()) else pl.Int64())
        text = column.str.strip_chars()
        wrong = (~text.str.contains(r"^\[.*\]$")).arg_true()
        if len(wrong):
            raise CellError(int(wrong[0]), column.name, f"{shown(column[int(wrong[0])])} is not a list such as [3, 17]")
        try:
            return text.str.json_decode(pl.List(inner))
        except pl.exceptions.PolarsError as error:
            row = next((row for row, cell in enumerate(text) if cell is not None and not _is_list(cell)), 0)
            raise CellError(row, column.name, f"{shown(column[row])} is not a list such as [3, 17]") from error
    if column.dtype == pl.Null:
        return column.cast(pl.List(wanted or pl.Int64()))
    if not isinstance(column.dtype, pl.List):
        raise InputError(f"column {column.name!r}: given {column.dtype}, expected lists such as [3, 17]")
    if wanted is not None and not isinstance(column.dtype.inner, pl.Struct):
        return column.cast(pl.List(wanted))
    return column


def _is_list(cell: str) -> bool:
    try:
        return isinstance(json.loads(cell), list)
    except ValueError:
        return False


def _entries(lists: pl.Series) -> tuple[NDArray[np.int64], pl.Series, NDArray[np.float32]]:
    """Row, entry and value of everything in the lists."""
    frame = pl.DataFrame({"row": np.arange(len(lists)), "entry": lists})
    frame = frame.filter(pl.col("entry").list.len() > 0).explode("entry").drop_nulls("entry")
    value = np.ones(frame.height, dtype=np.float32)
    entry = frame["entry"]
    if isinstance(entry.dtype, pl.Struct):
        fields = entry.struct.unnest()
        entry, value = fields.to_series(0), fields.to_series(1).cast(pl.Float32).to_numpy()
    return frame["row"].to_numpy(), entry, value


def _matrix(column: pl.Series, width: int | None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Lists of numbers as rows, NaN where one is missing, and where whole rows are."""
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


def _hashed(column: pl.Series, width: int) -> scipy.sparse.csr_matrix:
    from sklearn.feature_extraction.text import HashingVectorizer

    text: Sequence[str] = words(column).fill_null("").to_list()
    hashing = HashingVectorizer(n_features=width, binary=True, norm=None, alternate_sign=False, dtype=np.float32)
    return scipy.sparse.csr_matrix(hashing.transform(text))


def _seconds(column: pl.Series) -> pl.Series:
    return column.dt.epoch("us").cast(pl.Float64) / 1e6
