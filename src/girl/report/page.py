"""The report: one HTML file about one embedding, which needs nothing but a browser.

Words, tables and small figures are written here, so that they print and need no script; only the map is drawn in the
browser, from data that stands in the page.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module, resources
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse
import torch
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from numpy.typing import NDArray
from plotly.offline import get_plotlyjs

from girl.errors import InputError
from girl.evaluate.quality import GIRL, Cosines, Likeness, Probed, Quality, classes_of, neighbourhoods
from girl.files import write_text
from girl.threads import one_thread

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

#: Classes that the table of confusions has room for.
CONFUSED = 20

#: A text column with more distinct values than this share of its rows says who, not what.
DISTINCT = 0.5


@dataclass(frozen=True)
class ReportData:
    """All that a report is made of."""

    title: str
    facts: dict[str, int | float | str]
    """What the data was, in order."""
    notes: list[str]
    """What a person should know about the data."""
    ids: Sequence[str]
    """Names of the n nodes, as given."""
    embedding: NDArray[np.float32]
    """n × k."""
    edge_index: NDArray[np.int64]
    """2 × m."""
    columns: pl.DataFrame
    """What is known about the nodes, n rows: to colour the map by and to read."""
    label: str | None
    """The column that is the label, if there is one."""
    history: list[dict[str, float]]
    """Each epoch's ρ̂ of each layer."""
    quality: Quality
    settings: dict[str, Any]
    """The recipe."""
    usage: str
    """Lines of Python that read the result."""


def write_report(path: Path, report: ReportData) -> None:
    """Write the report to ``path``, whole or not at all. The same report gives the same bytes."""
    write_text(path, render(report))


@one_thread()  # sums in another order differ in their last digit, which must not move a point
def render(report: ReportData) -> str:
    """The report as one page of HTML."""
    _check(report)
    joined = neighbourhoods(report.edge_index, len(report.ids))
    degree = np.diff(joined.indptr)
    data = map_data(report, joined)
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"number": number, "percent": percent}
    files = resources.files("girl.report")
    template = environment.from_string((files / "page.html.jinja").read_text(encoding="utf-8"))
    return template.render(
        report=report,
        quality=report.quality,
        brief=in_brief(report.quality),
        degrees=degree_bars(degree),
        mean_degree=float(degree.mean()),
        training=training(report.history),
        likeness=likeness_rows(report.quality),
        probed=None if report.quality.probed is None else probed_rows(report.quality.probed),
        confusion=None if report.quality.probed is None else confusion_rows(report.quality.probed),
        settings=list(_sections(report.settings)),
        shown=len(data["ids"]),
        total=len(report.ids),
        left_out=max(0, report.columns.width - COLUMNS),
        map=data,
        data=_script(data),
        css=Markup((files / "page.css").read_text(encoding="utf-8")),  # ours
        js=Markup((files / "page.js").read_text(encoding="utf-8")),
        plotly=Markup(get_plotlyjs()),
    )


def _check(report: ReportData) -> None:
    n = len(report.ids)
    if not n:
        raise InputError("report: given no nodes, expected at least one")
    if report.embedding.ndim != 2 or len(report.embedding) != n:
        raise InputError(f"embedding: given shape {report.embedding.shape}, expected {n:,} rows, one for each id")
    if report.columns.width and report.columns.height != n:
        raise InputError(f"columns: given {report.columns.height:,} rows, expected {n:,}, one for each id")
    if report.label is not None and report.label not in report.columns.columns:
        raise InputError(f"label: given {report.label!r}, expected one of {', '.join(report.columns.columns)}")


def _script(data: Any) -> Markup:
    """JSON that may stand in a script element: nothing in it can end the element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return Markup(text)  # escaped above


# Numbers for people.


def number(value: object) -> str:
    """A count with thousands set apart, a measure to three digits, anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if not math.isfinite(value):
        return "–"
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15):
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def percent(share: float, digits: int = 1) -> str:
    """A share in percent; what is small but not nothing is not called nothing."""
    text = f"{100 * share:.{digits}f}"
    return f"{text}\u00a0%" if float(text) or not share else f"<\u00a0{10**-digits:g}\u00a0%"


def in_brief(quality: Quality) -> list[tuple[str, str]]:
    """The few numbers to remember, each with a sentence."""
    found = []
    ours = quality.likeness[-1]
    if quality.probed is not None:
        others = [f"{name} {percent(got.mean)}" for name, got in quality.probed.accuracy.items() if name != GIRL]
        beside = f"; {', '.join(others)}" if others else ""
        found.append((percent(quality.probed.accuracy[GIRL].mean), f"of labels a linear classifier reads{beside}"))
    if ours.links is not None:
        found.append((f"{ours.links:.2f}", "the chance that joined nodes are more alike than others; blind: 0.50"))
    if ours.one_hop is not None and quality.chance.one_hop is not None:
        beside = percent(quality.chance.one_hop)
        found.append(
            (percent(ours.one_hop, 0), f"of a node’s nearest are its neighbours in the graph; blind: {beside}")
        )
    found.append((f"{quality.effective_rank:.1f}", f"directions in use (effective rank), of {quality.width} columns"))
    return found


# What the data was and how training went.


def degree_bars(degree: NDArray[np.integer]) -> list[tuple[str, int, float]]:
    """Numbers of neighbours, how many nodes have them, and the share of the longest bar."""
    most = int(degree.max(initial=0))
    # Beyond ten, in doubling ranges: a few hubs and the many leaves are both seen.
    doubling = [0, *(2**power for power in range(most.bit_length() + 1))]
    edges = list(range(most + 2)) if most <= 10 else doubling
    counts, _ = np.histogram(degree, bins=[edge - 0.5 for edge in edges])
    names = [str(low) if high == low + 1 else f"{low:,}–{high - 1:,}" for low, high in pairwise(edges)]
    bars = list(zip(names, counts.tolist(), (counts / max(counts.max(), 1)).tolist(), strict=True))
    while len(bars) > 1 and not bars[0][1]:  # no isolated node is the rule
        bars.pop(0)
    return bars


@dataclass(frozen=True)
class Curve:
    """One layer's ρ̂."""

    name: str
    path: str
    """In a square of 100 × 100, y downwards."""
    first: float
    last: float
    words: str


@dataclass(frozen=True)
class Training:
    """The curves of all layers and the axes they stand on."""

    curves: list[Curve]
    ticks: list[tuple[float, str]]
    """Heights (percent from the top) and what stands there."""
    epochs: int


def training(history: list[dict[str, float]]) -> Training | None:
    """How ρ̂ of each layer went; None if nothing was trained."""
    names = list(dict.fromkeys(name for epoch in history for name in epoch))
    if not names:
        return None
    series = {name: np.array([epoch.get(name, math.nan) for epoch in history]) for name in names}
    values = np.concatenate(list(series.values()))
    low, high, step = _axis(float(np.nanmin(values)), float(np.nanmax(values)))
    at = np.linspace(0, 100, len(history)) if len(history) > 1 else np.array([50.0])
    curves = []
    for name, line in series.items():
        known = np.isfinite(line)
        points = [f"{x:.2f},{100 * (high - y) / (high - low):.2f}" for x, y in zip(at[known], line[known], strict=True)]
        path = "M" + "L".join(points if len(points) > 1 else points * 2)
        told = line[known]
        curves.append(Curve(name, path, float(told[0]), float(told[-1]), _course(told)))
    count = round((high - low) / step)
    ticks = [
        (100 * i / count, f"{high - i * step:.{max(0, -math.floor(math.log10(step)))}f}") for i in range(count + 1)
    ]
    return Training(curves, ticks, len(history))


def _axis(low: float, high: float) -> tuple[float, float, float]:
    """A round range around values, and a round step."""
    span = max(high - low, 0.05)
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 10 ** math.ceil(math.log10(span))) if span / s <= 5)
    return max(0.0, math.floor(low / step)) * step, (math.floor(high / step) + 1) * step, step


def _course(line: NDArray[np.float64]) -> str:
    """What the last tenth of a curve says about going on."""
    if len(line) < 5:
        return "too few epochs to see a trend"
    tail = max(len(line) // 10, 2)
    before, after = line[-2 * tail : -tail].mean(), line[-tail:].mean()
    fell, gained = before - after, line[0] - line.min()
    if line[-1] > line[0] * 1.02:
        return "rose: a smaller learning rate may help"
    if fell > 0.05 * max(gained, 1e-3):
        return "still falling: more epochs may help"
    return "has levelled off"


# How good it is.


@dataclass(frozen=True)
class Bar:
    """A value in a table with a bar behind it."""

    text: str
    share: float


def likeness_rows(quality: Quality) -> list[tuple[str, list[Bar]]]:
    """The table of the measures that need no labels: chance, controls, embedding."""

    def bars(row: Likeness) -> list[Bar]:
        links = Bar("–", 0) if row.links is None else Bar(f"{row.links:.3f}", max(0.0, 2 * row.links - 1))
        hops = [Bar("–", 0) if hop is None else Bar(percent(hop), hop) for hop in (row.one_hop, row.two_hops)]
        return [links, *hops]

    return [(row.name, bars(row)) for row in (quality.chance, *quality.likeness)]


@dataclass(frozen=True)
class Span:
    """A confidence interval on an axis, in percent of its length."""

    name: str
    text: str
    between: str
    left: float
    width: float
    dot: float


def probed_rows(probed: Probed) -> tuple[list[Span], list[str], list[tuple[str, str, str]]]:
    """Accuracies on an axis, the axis' ends, and what GIRL gains over each control."""
    rows = probed.accuracy
    room = 1 - min(math.floor(20 * min(row.low for row in rows.values())) / 20, 0.9)

    def place(value: float) -> float:
        return 100 * (value - (1 - room)) / room

    spans = [
        Span(
            name,
            percent(row.mean),
            f"{100 * row.low:.1f} to {100 * row.high:.1f}\u00a0%",
            place(row.low),
            place(row.high) - place(row.low),
            place(row.mean),
        )
        for name, row in rows.items()
    ]
    gains = []
    for name, gain in probed.gain.items():
        sure = "better" if gain.low > 0 else "worse" if gain.high < 0 else "no clear difference"
        between = f"{100 * gain.low:+.1f} to {100 * gain.high:+.1f}".replace("-", "−")
        gains.append((name, f"{100 * gain.mean:+.1f}".replace("-", "−") + f" points ({between})", sure))
    middle = percent(1 - room / 2, 0 if round(1000 * room) % 20 == 0 else 1)
    return spans, [percent(1 - room, 0), middle, percent(1, 0)], gains


def confusion_rows(probed: Probed) -> tuple[list[str], list[tuple[str, list[tuple[int, float]]]], int]:
    """Classes, their rows of counts with each row's shares, and how many classes there was no room for."""
    table = np.array(probed.confusion)
    kept = np.sort(np.argsort(-table.sum(1), kind="stable")[:CONFUSED])
    names = [probed.classes[at] for at in kept]
    rows = []
    for at in kept:
        shares = table[at] / max(table[at].sum(), 1)
        rows.append((probed.classes[at], [(int(table[at, to]), float(shares[to])) for to in kept]))
    return names, rows, len(table) - len(kept)


def _sections(settings: dict[str, Any]) -> Iterable[tuple[str, list[tuple[str, str]]]]:
    """Settings as named lists; what belongs to no section comes first."""
    plain = {key: value for key, value in settings.items() if not isinstance(value, dict)}
    if plain:
        yield "", [(key, _setting(value)) for key, value in plain.items()]
    for key, value in settings.items():
        if isinstance(value, dict):
            yield key, [(name, _setting(inner)) for name, inner in value.items()]


def _setting(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


# The map.


def map_data(report: ReportData, joined: scipy.sparse.csr_array) -> dict[str, Any]:
    """What the browser draws: places, columns and neighbours of the nodes shown."""
    n = len(report.ids)
    nodes = np.arange(n)
    if n > SHOWN:
        nodes = np.sort(np.random.default_rng(0).choice(n, SHOWN, replace=False))
    h = np.require(report.embedding, np.float32, "W")  # torch shares writable memory only
    plane, held, axes = principal(h[nodes])
    maps = {"principal components": plane}
    if (found := umap(h[nodes])) is not None:
        maps["UMAP"] = found
    degree = np.diff(joined.indptr)[nodes]
    near, how = Cosines(torch.from_numpy(h[nodes])).nearest(np.arange(len(nodes)), LISTED)
    return {
        "ids": [str(report.ids[node]) for node in nodes.tolist()],
        "maps": {name: [_rounded(places[:, 0]), _rounded(places[:, 1])] for name, places in maps.items()},
        "held": round(held, 4),
        "columns": list(columns_of(report, nodes, axes, degree)),
        "degree": degree.tolist(),
        "near": near.tolist(),
        "nearness": [_rounded(row, 3) for row in how],
        **_joined(report, joined, nodes, h),
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
    report: ReportData, nodes: NDArray[np.int64], axes: NDArray[np.float64], degree: NDArray[np.integer]
) -> Iterable[dict[str, Any]]:
    """Columns to colour by and to read: the label, the cluster, the degree, then the user's others."""
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
    yield _scale("neighbours (degree)", degree.astype(np.float64))
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
    return {"joined": found, "likeness": similar}


def _rounded(values: NDArray[np.floating], digits: int = 5) -> list[float | None]:
    """Numbers to a few significant digits, so that a page is small; None where there is none."""
    return [None if math.isnan(value) else float(f"{value:.{digits}g}") + 0.0 for value in values.tolist()]
