"""What the browser draws the report's map from: places, columns and neighbours of the nodes (or graphs) shown."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import scipy.sparse
import torch
from numpy.typing import NDArray

from girl.errors import InputError
from girl.evaluation.label_probe import classes_of
from girl.evaluation.neighborhood import Cosines

if TYPE_CHECKING:
    from girl.reporting.page import ReportData

#: Nodes on the map and in its search; a browser draws more, but nobody sees more.
SHOWN = 10_000

#: Neighbours listed for a node, and how many of a hub's are looked at to find them.
LISTED = 10
HUB = 200

#: Columns of the user's that the page holds, and letters of a text that it shows.
COLUMNS = 60
LETTERS = 120

#: Whole numbers with at most this many values are drawn as classes.
FEW = 10

#: Clusters where no label says how many there are.
CLUSTERS = 8

#: A text column with more distinct values than this share of its rows says who, not what.
DISTINCT = 0.5


def map_data(report: ReportData, joined: scipy.sparse.csr_array | None) -> dict[str, Any]:
    """What the browser draws: places, columns and neighbours of the nodes shown; graphs of a set are not ``joined``."""
    n = len(report.ids)
    nodes = np.arange(n)
    if n > SHOWN:
        nodes = np.sort(np.random.default_rng(0).choice(n, SHOWN, replace=False))
    h = np.require(report.embedding, np.float32, "W")  # torch shares writable memory only
    plane, held, axes = principal(h[nodes])
    maps = {"principal components": plane}
    if (found := umap(h[nodes])) is not None:
        maps["UMAP"] = found
    near, how = Cosines(torch.from_numpy(h[nodes])).nearest(np.arange(len(nodes)), LISTED)
    return {
        "unit": report.quality.unit,
        "ids": [str(report.ids[node]) for node in nodes.tolist()],
        "maps": {name: [_rounded(places[:, 0]), _rounded(places[:, 1])] for name, places in maps.items()},
        "held": round(held, 4),
        "columns": list(columns_of(report, nodes, axes, joined)),
        "near": near.tolist(),
        "nearness": [_rounded(row, 3) for row in how],
        **({} if joined is None else _joined(report, joined, nodes, h)),
    }


def principal(h: NDArray[np.float32]) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
    """The first two principal components, the share of the spread they hold, and the first 32 components."""
    centred = h.astype(np.float64) - h.mean(0, dtype=np.float64)
    spread, directions = np.linalg.eigh(centred.T @ centred)
    directions = directions[:, ::-1][:, :32]
    # A direction has no sign of its own: its largest entry is made positive.
    largest = np.abs(directions).argmax(0)
    axes = centred @ (directions * np.sign(directions[largest, np.arange(directions.shape[1])]))
    held = float(spread[-2:].sum() / spread.sum()) if spread.sum() > 0 else 1.0
    plane = axes[:, :2] if axes.shape[1] > 1 else np.pad(axes, ((0, 0), (0, 1)))
    return plane, held, axes


def umap(h: NDArray[np.float32]) -> NDArray[np.float64] | None:
    """A UMAP of the rows, if umap-learn is installed and there are enough rows."""
    if len(h) < 20 or find_spec("umap") is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a seed means one thread is what we want
        places = import_module("umap").UMAP(n_neighbors=15, metric="cosine", random_state=0).fit_transform(h)
    return np.asarray(places, dtype=np.float64)


def clusters(axes: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """The cluster of each row by k-means, the largest cluster first."""
    from sklearn.cluster import KMeans

    count = min(count, len(np.unique(axes.round(9), axis=0)))
    found = KMeans(count, n_init=4, random_state=0).fit_predict(axes)
    place = np.argsort(np.argsort(-np.bincount(found, minlength=count), kind="stable"))
    return place[found].astype(np.int64)


def columns_of(
    report: ReportData, nodes: NDArray[np.int64], axes: NDArray[np.float64], joined: scipy.sparse.csr_array | None
) -> Iterable[dict[str, Any]]:
    """Columns to colour by and to read: the label, the cluster, the degree (or size), then the user's others."""
    own = report.columns[nodes.tolist()] if report.columns.width else report.columns
    count = CLUSTERS
    if report.label is not None:
        told = column(own[report.label], label=True)
        if told is not None:
            yield told
        if report.quality.probed is not None and len(report.quality.probed.classes) <= 2 * CLUSTERS:
            count = len(report.quality.probed.classes)
    which = clusters(axes, min(count, max(1, len(nodes) // 3)))
    levels = [f"cluster {at + 1}" for at in range(int(which.max()) + 1)]
    yield {"name": "cluster (k-means)", "kind": "category", "levels": levels, "codes": which.tolist()}
    if joined is not None:
        yield _scale("neighbours (degree)", np.diff(joined.indptr)[nodes].astype(np.float64))
    for name, values in ({} if report.sizes is None else report.sizes).items():
        yield _scale(f"number of {name}", values[nodes].astype(np.float64))
    for series in own.get_columns()[:COLUMNS]:
        if series.name != report.label and (found := column(series)) is not None:
            yield found


def column(series: pl.Series, *, label: bool = False) -> dict[str, Any] | None:
    """A column as the browser needs it: a category, a number, a time or a text; None if it is empty."""
    dtype = series.dtype
    if series.null_count() == len(series):
        return None
    if dtype.is_nested():
        if dtype != pl.List:
            return _text(series)
        # Lists are coloured by their length and read in full.
        return _scale(f"{series.name} (length)", series.list.len().cast(pl.Float64).to_numpy()) | {
            "texts": _texts(series)
        }
    if dtype in (pl.Date, pl.Datetime):
        moments = series.cast(pl.Datetime("ms")).dt.timestamp("ms").cast(pl.Float64).to_numpy()
        return _scale(series.name, moments, kind="date" if dtype == pl.Date else "time")
    if dtype.is_numeric() and not dtype.is_integer():
        values = series.cast(pl.Float64).to_numpy()
        return _category(series) if label and _is_few(series, 100) else _scale(series.name, values)
    if dtype.is_integer():
        if _is_few(series, 100 if label else FEW):
            return _category(series)
        return _scale(series.name, series.cast(pl.Float64).to_numpy())
    if dtype in (pl.String, pl.Categorical, pl.Enum, pl.Boolean):
        many = series.n_unique() > max(2 * FEW, DISTINCT * len(series))
        return _text(series) if many else _category(series)
    return _text(series)


def _is_few(series: pl.Series, most: int) -> bool:
    return series.drop_nulls().n_unique() <= most


def _category(series: pl.Series) -> dict[str, Any]:
    try:
        codes, levels = classes_of(series)
    except InputError:  # more than classes_of takes: the commonest come first
        text = series.cast(pl.String)
        levels = (
            text.drop_nulls()
            .value_counts(sort=True)
            .sort(["count", series.name], descending=[True, False])[series.name]
            .to_list()
        )
        codes = (
            text.replace_strict(levels, range(len(levels)), default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy()
        )
    return {
        "name": series.name,
        "kind": "category",
        "levels": [_short(level) for level in levels],
        "codes": codes.tolist(),
    }


def _scale(name: str, values: NDArray[np.float64], kind: str = "number") -> dict[str, Any]:
    values = np.where(np.isfinite(values), values, np.nan)
    known = values[~np.isnan(values)]
    low, middle, high = np.percentile(known, [2, 50, 98]) if known.size else (0.0, 0.0, 0.0)
    if low == high and known.size:
        low, high = known.min(), known.max()
    # A few hubs or fortunes must not leave all others in one colour.
    log = bool(kind == "number" and known.size and known.min() >= 0 and high > 20 * max(middle, 1e-12))
    digits = 6 if kind == "number" else 15
    return {
        "name": name,
        "kind": kind,
        "values": _rounded(values, digits),
        "low": _rounded(np.array([low]), digits)[0],
        "high": _rounded(np.array([high]), digits)[0],
        "log": log,
    }


def _text(series: pl.Series) -> dict[str, Any]:
    return {"name": series.name, "kind": "text", "texts": _texts(series)}


def _texts(series: pl.Series) -> list[str | None]:
    return [None if value is None else _short(value) for value in series.to_list()]


def _short(value: object) -> str:
    text = ", ".join(map(str, value[:LETTERS])) if isinstance(value, list) else str(value)
    return text if len(text) <= LETTERS else text[: LETTERS - 1] + "…"


def _joined(
    report: ReportData, joined: scipy.sparse.csr_array, nodes: NDArray[np.int64], h: NDArray[np.float32]
) -> dict[str, Any]:
    """Neighbours in the graph of each node shown, the most similar first: places on the map, or ids of others."""
    place = np.full(len(h), -1)
    place[nodes] = np.arange(len(nodes))
    rng = np.random.default_rng(0)
    rows = [joined.indices[joined.indptr[node] : joined.indptr[node + 1]] for node in nodes]
    rows = [row if len(row) <= HUB else np.sort(rng.choice(row, HUB, replace=False)) for row in rows]
    counts = [len(row) for row in rows]
    others = np.concatenate([*rows, np.zeros(0, dtype=np.int64)]).astype(np.int64)
    cosines = Cosines(torch.from_numpy(h))
    parts = np.array_split(np.arange(len(others)), len(others) // 8192 + 1)
    left = np.repeat(nodes, counts)
    how = np.concatenate([cosines.pairs(left[part], others[part]) for part in parts])
    ends = np.cumsum([0, *counts])
    found, similar = [], []
    for start, end in pairwise(ends):
        order = start + np.argsort(-how[start:end], kind="stable")[:LISTED]
        found.append([int(place[other]) if place[other] >= 0 else str(report.ids[other]) for other in others[order]])
        similar.append(_rounded(how[order], 3))
    return {"degree": np.diff(joined.indptr)[nodes].tolist(), "joined": found, "likeness": similar}


def _rounded(values: NDArray[np.floating], digits: int = 5) -> list[float | None]:
    """Numbers to a few significant digits, so that a page is small; None where there is none."""
    return [None if math.isnan(value) else float(f"{value:.{digits}g}") + 0.0 for value in values.tolist()]
