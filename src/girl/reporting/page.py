"""The report: one HTML file about one embedding that needs only a browser.

Text, tables and small figures are written here, so they print and need no script. Only the map is drawn in the browser,
from data inside the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from girl.evaluation.neighborhood import neighbourhoods
from girl.files import write_text
from girl.reporting import text
from girl.reporting.map_data import MAX_COLUMNS, map_data
from girl.reporting.report_data import ReportData
from girl.threads import one_thread


def write_report(path: Path, data: ReportData) -> None:
    """Write the report to ``path``, completely or not at all. The same data gives the same bytes."""
    write_text(path, render(data))


@one_thread()  # the order of a sum changes its last digit, which must not move a point
def render(report: ReportData) -> str:
    """The report as one page of HTML."""
    quality, probe = report.quality, report.quality.label_probe
    if report.edge_index is not None:
        adjacency = neighbourhoods(report.edge_index, len(report.ids))
        counts = np.diff(adjacency.indptr)  # neighbours of each node
        bars = text.degree_bars(counts)
    else:
        assert report.sizes is not None
        adjacency, counts = None, report.sizes["nodes"]
        bars = text.size_bars(counts)
    points = map_data(report, adjacency)
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"number": text.number, "percent": text.percent}
    template = environment.from_string(_read("page.html.jinja"))
    return template.render(
        report=report,
        quality=quality,
        highlights=text.highlights(quality),
        bars=bars,
        mean_count=float(counts.mean()),
        training=text.training(report.history),
        explained=text.explained_rows(report.choice),
        neighborhood=text.neighborhood_rows(quality),
        probe=probe,
        accuracy=None if probe is None else text.accuracy_rows(probe),
        confusion=None if probe is None else text.confusion_rows(probe),
        settings=list(_sections(report.settings)),
        left_out=max(0, report.columns.width - MAX_COLUMNS),
        map=points,
        data=_script(points),
        css=Markup(_read("page.css")),  # our own file
        js=Markup('"use strict";\n(() => {\n' + _read("map.js") + "\n" + _read("controls.js") + "})();\n"),
        plotly=Markup(get_plotlyjs()),
    )


def _read(name: str) -> str:
    return (resources.files("girl.reporting") / name).read_text(encoding="utf-8")


def _script(data: Any) -> Markup:
    """JSON for a script element, escaped so that nothing in it can end the element."""
    script = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for mark in "<>&\u2028\u2029":
        script = script.replace(mark, f"\\u{ord(mark):04x}")
    return Markup(script)


def _sections(settings: dict[str, Any]) -> Iterable[tuple[str, list[tuple[str, str]]]]:
    """Settings as named lists; those outside any section come first, without a name."""
    plain = {key: value for key, value in settings.items() if not isinstance(value, dict)}
    nested = {key: value for key, value in settings.items() if isinstance(value, dict)}
    for name, section in (({"": plain} if plain else {}) | nested).items():
        yield (
            name,
            [
                (key, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
                for key, value in section.items()
            ],
        )
