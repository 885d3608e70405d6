"""The report: one HTML file about one embedding, which needs nothing but a browser.

Words, tables and small figures are written here, so that they print and need no script; only the map is drawn in the
browser, from data that stands in the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from numpy.typing import NDArray
from plotly.offline import get_plotlyjs

from girl.errors import InputError
from girl.evaluation.neighborhood import neighbourhoods
from girl.evaluation.quality import Quality
from girl.files import write_text
from girl.reporting.map_data import COLUMNS, map_data
from girl.reporting.text import (
    confusion_rows,
    degree_bars,
    in_brief,
    likeness_rows,
    number,
    percent,
    probed_rows,
    size_bars,
    training,
)
from girl.threads import one_thread


@dataclass(frozen=True)
class ReportData:
    """All that a report is made of."""

    title: str
    facts: dict[str, int | float | str]
    """What the data was, in order."""
    notes: list[str]
    """What a person should know about the data."""
    ids: Sequence[str]
    """Names of the n nodes, or of the n graphs of a set, as given."""
    embedding: NDArray[np.float32]
    """n × k."""
    edge_index: NDArray[np.int64] | None
    """2 × m; None if the rows are graphs."""
    columns: pl.DataFrame
    """What is known about the nodes or graphs, n rows: to colour the map by and to read."""
    label: str | None
    """The column that is the label, if there is one."""
    history: list[dict[str, float]]
    """Each epoch's ρ̂ of each layer."""
    quality: Quality
    settings: dict[str, Any]
    """The recipe."""
    usage: str
    """Lines of Python that read the result."""
    sizes: dict[str, NDArray[np.int64]] | None = None
    """Of graphs, how many ``nodes`` and ``edges`` each has (n)."""


def write_report(path: Path, report: ReportData) -> None:
    """Write the report to ``path``, whole or not at all. The same report gives the same bytes."""
    write_text(path, render(report))


@one_thread()  # sums in another order differ in their last digit, which must not move a point
def render(report: ReportData) -> str:
    """The report as one page of HTML."""
    _check(report)
    joined = None if report.edge_index is None else neighbourhoods(report.edge_index, len(report.ids))
    if joined is not None:
        degree = np.diff(joined.indptr)
    else:
        assert report.sizes is not None
        degree = report.sizes["nodes"]
    data = map_data(report, joined)
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"number": number, "percent": percent}
    files = resources.files("girl.reporting")
    template = environment.from_string((files / "page.html.jinja").read_text(encoding="utf-8"))
    return template.render(
        report=report,
        quality=report.quality,
        brief=in_brief(report.quality),
        degrees=degree_bars(degree) if joined is not None else size_bars(degree),
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
    if (report.edge_index is None) != (report.sizes is not None):
        raise InputError("report: expected edges of nodes, or sizes of graphs")
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
