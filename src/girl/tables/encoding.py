"""A node table as features, and the recipe to make the same of another table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse

from girl.errors import InputError
from girl.tables.column_kinds import KINDS, Bag, Block, Category, Date, Kind, Number, Text, Truth, Vector, bags, one_hot
from girl.tables.table import listed
from girl.tables.text import plain
from girl.tables.values import date_form, is_time, number_share, words

#: Raised when the same encoding would give other features.
FORMAT = 1

#: The feature of nodes that have no row in the table.
ONLY_IN_EDGES = "only in edges"

#: Words per cell from which a column is text, not a category.
_WORDS = 4
#: Different texts that a column may hold and be a category, though most cells differ: small tables are like that.
_FEW = 20


@dataclass(frozen=True)
class Encoding:
    """How a node table becomes features: what was learned of every column, and one factor for all.

    Sparse blocks stay sparse. The factor makes the mean squared length of a row the number of columns, since encoders
    expect entries of about 1 in size.
    """

    kinds: tuple[Kind, ...]
    absent: bool = False
    """Whether nodes without a row in the table were seen: one more column says which they are."""
    scale: float = 1.0
    skipped: dict[str, str] = field(default_factory=dict)
    """Columns that were left out, and why."""

    @classmethod
    def fit(
        cls, table: pl.DataFrame, columns: Collection[str] = (), text: Collection[str] = (), absent: int = 0
    ) -> Encoding:
        """Learn from a table.

        Args:
            table: a row for each node that has one.
            columns: those asked for by name, which are used even if they look like numbers of rows; none: all.
            text: columns whose words are used.
            absent: number of nodes that have no row.
        """
        return cls.fit_apply(table, columns, text, absent)[0]

    @classmethod
    def fit_apply(
        cls, table: pl.DataFrame, columns: Collection[str] = (), text: Collection[str] = (), absent: int = 0
    ) -> tuple[Encoding, Block, int]:
        """The encoding, the features (n × d) and the number of missing values that were filled."""
        kinds: list[Kind] = []
        skipped: dict[str, str] = {}
        for column in table:
            found = _fit(column, asked=column.name in columns, text=column.name in text)
            if isinstance(found, str):
                skipped[column.name] = found
            else:
                kinds.append(found)
        plain_scale = cls(tuple(kinds), bool(absent and kinds), 1.0, skipped)
        x, missing = plain_scale.encode(table, absent)
        entries = x.ravel() if isinstance(x, np.ndarray) else x.data
        squares = float(np.einsum("i,i->", entries, entries, dtype=np.float64))
        scale = float(np.sqrt(x.shape[0] * x.shape[1] / squares)) if squares else 1.0
        return cls(plain_scale.kinds, plain_scale.absent, scale, skipped), _times(x, scale), missing

    def apply(self, table: pl.DataFrame, absent: int = 0) -> Block:
        """The features of a table, n × d: a scipy CSR matrix if any block is sparse, else an array; float32."""
        x, _ = self.encode(table, absent)
        return x

    def encode(self, table: pl.DataFrame, absent: int = 0) -> tuple[Block, int]:
        """The features, the rows of nodes without one in the table last, and the number of missing values filled."""
        self._check(table.columns)
        blocks: list[Block] = []
        filled = 0
        for kind in self.kinds:
            block, missing = _encode(kind, table[kind.column])
            blocks.append(block)
            filled += int(missing.sum())
            if kind.flag:
                blocks.append(one_hot(np.where(missing, 0, -1), 1))
        x = _side_by_side(blocks, table.height)
        if absent:
            x = _below(x, absent)
        if self.absent:
            flag = one_hot(np.where(np.arange(table.height + absent) < table.height, -1, 0), 1)
            x = _side_by_side([x, flag], table.height + absent)
        return _times(x, self.scale), filled

    @property
    def names(self) -> list[str]:
        """The features' names, one for each column of x."""
        found = [name for kind in self.kinds for name in kind.names + [f"{kind.column} missing"] * kind.flag]
        return found + [ONLY_IN_EDGES] * self.absent

    @property
    def columns(self) -> list[str]:
        """The columns of the table that are used."""
        return [kind.column for kind in self.kinds]

    def new_columns(self, columns: Sequence[str]) -> list[str]:
        """Those that were not there when the encoding was fitted."""
        return [name for name in columns if name not in self.columns and name not in self.skipped]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON."""
        kinds = [{"kind": kind.kind, **asdict(kind)} for kind in self.kinds]
        return {
            "format": FORMAT,
            "kinds": [{name: _plain(value) for name, value in kind.items()} for kind in kinds],
            "absent": self.absent,
            "scale": self.scale,
            "skipped": dict(self.skipped),
        }

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> Encoding:
        """From what :meth:`to_dict` gave."""
        if value.get("format") != FORMAT:
            raise InputError(
                f"encoding: of format {value.get('format')}, expected {FORMAT}: it was written by another version of "
                "girl; train anew, or use that version"
            )
        try:
            kinds = []
            for given in value["kinds"]:
                rest = {name: _tuple(item) for name, item in given.items() if name != "kind"}
                kinds.append(KINDS[given["kind"]](**rest))
            return cls(tuple(kinds), bool(value["absent"]), float(value["scale"]), dict(value["skipped"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"encoding: is damaged ({type(error).__name__}: {error}); train anew") from error

    def _check(self, columns: Sequence[str]) -> None:
        lacking = [name for name in self.columns if name not in columns]
        if lacking:
            word = "column" if len(lacking) == 1 else "columns"
            raise InputError(
                f"lacks the {word} {listed([repr(name) for name in lacking])}, which the model was trained with; add "
                "them (empty cells will do) or train anew without"
            )


def _fit(column: pl.Series, asked: bool, text: bool) -> Kind | str:
    """What a column is, or why it is left out."""
    kind = column.dtype
    if text:
        return Text.fit(column) or "no words in it"
    if column.null_count() == len(column):
        return "empty"
    constant = "the same for all nodes"
    if kind == pl.Boolean:
        return Truth.fit(column) or constant
    if kind.is_numeric() or kind == pl.Duration:
        if not asked and _names_rows(column):
            return "looks like an id; --columns with its name uses it as a number"
        return Number.fit(column) or constant
    if is_time(column):
        return Date.fit(column, None) or constant
    if isinstance(kind, (pl.Categorical, pl.Enum)):
        return Category.fit(column) or "no level that two nodes share, or only one"
    if kind == pl.String:
        return _fit_text(column)
    if isinstance(kind, (pl.List, pl.Array)):
        return _fit_list(column)
    return f"{kind} is of no use here"


def _fit_text(column: pl.Series) -> Kind | str:
    """A column of text: numbers, lists or dates as text, categories, or words."""
    cells = words(column).drop_nulls()
    if not len(cells):
        return "empty"
    if number_share(column) > 0.5:
        return Number.fit(column) or "the same for all nodes"
    if bool(cells.str.contains(r"^\[.*\]$").all()):
        fractions = bool(cells.str.contains(r"[0-9]\.[0-9]").any())
        return _fit_list(bags(column, wanted=pl.Float64()) if fractions else column)
    if (form := date_form(column)) is not None:
        return Date.fit(column, form) or "the same for all nodes"
    distinct = cells.n_unique()
    if distinct == 1 and len(cells) == len(column):
        return "the same for all nodes"
    wordy = float(cells.str.count_matches(r"\S+").mean() or 0) >= _WORDS  # type: ignore[arg-type]
    if distinct > 1 and (wordy or distinct > max(_FEW, len(cells) / 2)):
        return "text; --text with its name uses its words"
    return Category.fit(column) or "no level that two nodes share; --text with its name uses its words"


def _fit_list(column: pl.Series) -> Kind | str:
    inner = getattr(column.dtype, "inner", None)
    pairs = isinstance(inner, pl.Struct) and len(inner.fields) == 2
    if isinstance(column.dtype, pl.Array) or (inner is not None and inner.is_float()):
        if not getattr(inner, "is_numeric", bool)():
            return f"{column.dtype} is of no use here"
        return Vector.fit(column) or "the same for all nodes"
    if column.dtype == pl.String or pairs or (inner is not None and (inner.is_integer() or inner == pl.String)):
        return Bag.fit(column) or "all lists are empty"
    return f"{column.dtype} is of no use here"


def _encode(kind: Kind, column: pl.Series) -> tuple[Block, Any]:
    if isinstance(kind, Vector) and column.dtype == pl.String:
        column = bags(column, wanted=pl.Float64())
    try:
        return kind.encode(column)
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"column {column.name!r}: given {column.dtype}, expected what the model was trained with: a {kind.kind}"
        ) from error


def _names_rows(column: pl.Series) -> bool:
    """Whether a column of whole numbers is called an id and is different for every node."""
    return called_id(column.name) and column.dtype.is_integer() and column.n_unique() == len(column) > 1


def called_id(name: str) -> bool:
    """Whether a column is called as columns of ids or of rows' numbers are."""
    usual = ("id", "index", "idx", "unnamed0", "row", "rowid")
    return plain(name) in usual or name.lower().endswith(("_id", " id"))


def _side_by_side(blocks: Sequence[Block], rows: int) -> Block:
    """The blocks as one: sparse if one of them is."""
    if any(scipy.sparse.issparse(block) for block in blocks):
        matrices = [scipy.sparse.csr_matrix(block) for block in blocks]
        return scipy.sparse.csr_matrix(scipy.sparse.hstack(matrices, format="csr", dtype=np.float32))
    out = np.empty((rows, sum(block.shape[1] for block in blocks)), dtype=np.float32)
    at = 0
    for block in blocks:
        out[:, at : at + block.shape[1]] = block
        at += block.shape[1]
    return out


def _below(x: Block, absent: int) -> Block:
    """Rows of zeros below."""
    if isinstance(x, np.ndarray):
        return np.pad(x, ((0, absent), (0, 0)))
    start = np.concatenate([x.indptr, np.full(absent, x.indptr[-1], dtype=x.indptr.dtype)])
    return scipy.sparse.csr_matrix((x.data, x.indices, start), shape=(x.shape[0] + absent, x.shape[1]))


def _times(x: Block, scale: float) -> Block:
    """The same block, its entries multiplied."""
    if isinstance(x, np.ndarray):
        x *= np.float32(scale)
    else:
        x.data *= np.float32(scale)
    return x


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
