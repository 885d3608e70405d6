"""The data of the report's map: position, columns and neighbours of each node (or graph) shown."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from girl.errors import InputError
from girl.evaluation.label_probe import MAX_CLASSES, encode_classes
from girl.evaluation.neighborhood import CosineSimilarity
from girl.reporting.report_data import ReportData

#: Nodes on the map and in its search; a browser draws more, but nobody sees more.
MAX_SHOWN = 10_000

#: Neighbours listed for a node, and the size of the sample of a hub's neighbours that they are taken from.
MAX_LISTED = 10
MAX_HUB = 200

#: User columns in the page, and characters of a text that it shows.
MAX_COLUMNS = 60
MAX_CHARACTERS = 120

#: Integers with at most this many different values are drawn as classes.
MAX_LEVELS = 10

#: Number of clusters if no label suggests one.
CLUSTERS = 8

#: A text column with more different values than this fraction of its rows is shown as text, not as classes.
MAX_DISTINCT = 0.5

Nodes = NDArray[np.int64]


def map_data(report: ReportData, adjacency: scipy.sparse.csr_array | None) -> dict[str, Any]:
    """What the browser draws, as plain values; ``adjacency`` is None if the rows are graphs."""
    n = len(report.ids)
    nodes = np.arange(n)
    if n > MAX_SHOWN:
        nodes = np.sort(np.random.default_rng(0).choice(n, MAX_SHOWN, replace=False))
    ids = report.ids.cast(pl.String).to_list()
    h = np.require(report.embedding, np.float32, "W")  # torch shares writable memory only
    plane, explained, components = principal_components(h[nodes])
    maps = {"principal components": plane}
    if (neighborhoods := umap(h[nodes])) is not None:
        maps["UMAP"] = neighborhoods
    nearest, similarity = CosineSimilarity(torch.from_numpy(h[nodes])).nearest(np.arange(len(nodes)), MAX_LISTED)
    return {
        "unit": report.quality.unit,
        "ids": [ids[node] for node in nodes],
        "maps": {name: [_rounded(plane[:, 0]), _rounded(plane[:, 1])] for name, plane in maps.items()},
        "explained": round(explained, 4),
        "columns": list(map_columns(report, nodes, components, adjacency)),
        "nearest": nearest.tolist(),
        "nearest_similarity": [_rounded(row, 3) for row in similarity],
        **({} if adjacency is None else _neighbors(ids, adjacency, nodes, h)),
    }


def principal_components(h: NDArray[np.float32]) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
    """The first two principal components, the fraction of the variance they explain, and the first 32 components."""
    centered = h.astype(np.float64) - h.mean(0, dtype=np.float64)
    variances, directions = np.linalg.eigh(centered.T @ centered)
    directions = directions[:, ::-1][:, :32]
    # The sign of a direction is arbitrary: its largest entry is made positive.
    largest = np.abs(directions).argmax(0)
    components = centered @ (directions * np.sign(directions[largest, np.arange(directions.shape[1])]))
    explained = float(variances[-2:].sum() / variances.sum()) if variances.sum() > 0 else 1.0
    plane = components[:, :2] if components.shape[1] > 1 else np.pad(components, ((0, 0), (0, 1)))
    return plane, explained, components


def umap(h: NDArray[np.float32]) -> NDArray[np.float64] | None:
    """A UMAP of the rows, if umap-learn is installed and there are enough rows."""
    if len(h) < 20 or find_spec("umap") is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that a seed means one thread, which is what we want
        plane = import_module("umap").UMAP(n_neighbors=15, metric="cosine", random_state=0).fit_transform(h)
    return np.asarray(plane, dtype=np.float64)


def clusters(components: NDArray[np.float64], count: int) -> Nodes:
    """The k-means cluster of each row; clusters are numbered by size, the largest first."""
    count = min(count, len(np.unique(components.round(9), axis=0)))
    cluster = KMeans(count, n_init=4, random_state=0).fit_predict(components)
    rank = np.argsort(np.argsort(-np.bincount(cluster, minlength=count), kind="stable"))
    return rank[cluster].astype(np.int64)


def map_columns(
    report: ReportData, nodes: Nodes, components: NDArray[np.float64], adjacency: scipy.sparse.csr_array | None
) -> Iterable[dict[str, Any]]:
    """Columns to colour by and to read: the label, the cluster, the degree (or size), then the user's other columns."""
    table = report.columns[nodes.tolist()] if report.columns.width else report.columns
    count = CLUSTERS
    if report.label is not None:
        label = column(table[report.label], label=True)
        if label is not None:
            yield label
        probe = report.quality.label_probe
        if probe is not None and len(probe.classes) <= 2 * CLUSTERS:
            count = len(probe.classes)
    codes = clusters(components, min(count, max(1, len(nodes) // 3)))
    levels = [f"cluster {index + 1}" for index in range(int(codes.max()) + 1)]
    yield {"name": "cluster (k-means)", "kind": "category", "levels": levels, "codes": codes.tolist()}
    if adjacency is not None:
        yield _numeric("neighbours (degree)", np.diff(adjacency.indptr)[nodes].astype(np.float64))
    for name, sizes in (report.sizes or {}).items():
        yield _numeric(f"number of {name}", sizes[nodes].astype(np.float64))
    for series in table.get_columns()[:MAX_COLUMNS]:
        if series.name != report.label and (drawn := column(series)) is not None:
            yield drawn


def column(series: pl.Series, *, label: bool = False) -> dict[str, Any] | None:
    """A column as the browser needs it: a category, a number, a date, a time or a text; None if it is empty."""
    dtype = series.dtype
    if series.null_count() == len(series):
        return None
    if dtype == pl.List:  # coloured by length, read in full
        lengths = series.list.len().cast(pl.Float64).to_numpy()
        return _numeric(f"{series.name} (length)", lengths) | {"texts": _texts(series)}
    if dtype in (pl.Date, pl.Datetime):
        milliseconds = series.cast(pl.Datetime("ms")).dt.timestamp("ms").cast(pl.Float64).to_numpy()
        return _numeric(series.name, milliseconds, kind="date" if dtype == pl.Date else "time")
    if dtype.is_numeric():
        most = MAX_CLASSES if label else MAX_LEVELS if dtype.is_integer() else 0
        if series.drop_nulls().n_unique() <= most:
            return _category(series)
        return _numeric(series.name, series.cast(pl.Float64).to_numpy())
    is_class = dtype in (pl.String, pl.Categorical, pl.Enum, pl.Boolean)
    if is_class and series.n_unique() <= max(2 * MAX_LEVELS, MAX_DISTINCT * len(series)):
        return _category(series)
    return {"name": series.name, "kind": "text", "texts": _texts(series)}


def _category(series: pl.Series) -> dict[str, Any]:
    try:
        codes, levels = encode_classes(series)
    except InputError:  # too many classes: the most frequent come first
        text = series.cast(pl.String)
        counts = text.drop_nulls().value_counts(sort=True)
        levels = counts.sort(["count", series.name], descending=[True, False])[series.name].to_list()
        numbers = text.replace_strict(levels, range(len(levels)), default=-1, return_dtype=pl.Int64)
        codes = numbers.fill_null(-1).to_numpy()
    levels = [_shortened(level) for level in levels]
    return {"name": series.name, "kind": "category", "levels": levels, "codes": codes.tolist()}


def _numeric(name: str, values: NDArray[np.float64], kind: str = "number") -> dict[str, Any]:
    values = np.where(np.isfinite(values), values, np.nan)
    finite = values[~np.isnan(values)]
    low, median, high = np.percentile(finite, [2, 50, 98]) if finite.size else (0.0, 0.0, 0.0)
    if low == high and finite.size:
        low, high = finite.min(), finite.max()
    # On a linear scale a few large values would leave all others in one colour.
    log = bool(kind == "number" and finite.size and finite.min() >= 0 and high > 20 * max(median, 1e-12))
    digits = 6 if kind == "number" else 15
    low, high = _rounded(np.array([low, high]), digits)
    return {"name": name, "kind": kind, "values": _rounded(values, digits), "low": low, "high": high, "log": log}


def _texts(series: pl.Series) -> list[str | None]:
    return [None if value is None else _shortened(value) for value in series.to_list()]


def _shortened(value: object) -> str:
    text = ", ".join(map(str, value[:MAX_CHARACTERS])) if isinstance(value, list) else str(value)
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "…"


def _neighbors(
    ids: list[str], adjacency: scipy.sparse.csr_array, nodes: Nodes, h: NDArray[np.float32]
) -> dict[str, Any]:
    """Graph neighbours of each node shown, the most similar first: their index on the map, or their id if not shown."""
    index = np.full(len(h), -1)
    index[nodes] = np.arange(len(nodes))
    rng = np.random.default_rng(0)
    rows = [adjacency.indices[adjacency.indptr[node] : adjacency.indptr[node + 1]] for node in nodes]
    rows = [row if len(row) <= MAX_HUB else np.sort(rng.choice(row, MAX_HUB, replace=False)) for row in rows]
    counts = [len(row) for row in rows]
    others = np.concatenate([*rows, np.zeros(0, dtype=np.int64)]).astype(np.int64)
    left = np.repeat(nodes, counts)
    cosine = CosineSimilarity(torch.from_numpy(h))
    parts = np.array_split(np.arange(len(others)), len(others) // 8192 + 1)
    similarity = np.concatenate([cosine.pairs(left[part], others[part]) for part in parts])
    neighbors, similarities = [], []
    for start, end in pairwise(np.cumsum([0, *counts])):
        order = start + np.argsort(-similarity[start:end], kind="stable")[:MAX_LISTED]
        neighbors.append([int(index[other]) if index[other] >= 0 else ids[other] for other in others[order]])
        similarities.append(_rounded(similarity[order], 3))
    degree = np.diff(adjacency.indptr)[nodes].tolist()
    return {"degree": degree, "neighbors": neighbors, "neighbor_similarity": similarities}


def _rounded(values: NDArray[np.floating], digits: int = 5) -> list[float | None]:
    """Numbers rounded to a few significant digits, to keep the page small; None for NaN."""
    return [None if math.isnan(value) else float(f"{value:.{digits}g}") + 0.0 for value in values.tolist()]
