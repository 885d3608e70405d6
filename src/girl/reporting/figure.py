"""One style for all figures, and saving them as SVG and PNG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from girl.files import replacing

#: Colours that colour-blind readers can distinguish (Okabe and Ito), by their meaning in every figure.
COLORS = {
    "ours": "#0072B2",
    "paper": "#D55E00",
    "theory": "#444444",
    "second": "#009E73",
    "third": "#CC79A7",
    "fourth": "#E69F00",
}

_STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "svg.hashsalt": "girl",  # the same figure gives the same bytes
    "svg.fonttype": "none",
}


@contextmanager
def figure(path: Path, title: str, x: str, y: str, size: tuple[float, float] = (6.4, 4.0)) -> Iterator[Axes]:
    """Axes to draw on; saved as ``path`` with .svg and .png when the block ends."""
    with _saved_figure(path, size) as page:
        axes = page.add_subplot()
        axes.set_title(title, loc="left", fontsize=11)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        yield axes


@contextmanager
def panels(
    path: Path, title: str, names: Sequence[str], columns: int | None = None, size: tuple[float, float] | None = None
) -> Iterator[list[Axes]]:
    """As :func:`figure`, with axes for each of ``names``, in rows of ``columns`` (by default one row)."""
    columns = columns or len(names)
    rows = -(-len(names) // columns)
    with _saved_figure(path, size or (3.6 * columns, 0.6 + 3.2 * rows)) as page:
        page.suptitle(title, x=0.01, ha="left", fontsize=11)
        axes = [page.add_subplot(rows, columns, index + 1) for index in range(len(names))]
        for panel, name in zip(axes, names, strict=True):
            panel.set_title(name, loc="left", fontsize=10)
        yield axes


@contextmanager
def _saved_figure(path: Path, size: tuple[float, float]) -> Iterator[Figure]:
    """A figure with its own canvas, which needs neither pyplot's global state nor a display."""
    with mpl.rc_context(_STYLE):
        page = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(page)
        yield page
        for suffix, options in ((".svg", {"metadata": {"Date": None}}), (".png", {"dpi": 160})):
            with replacing(path.with_suffix(suffix)) as file:
                page.savefig(file, format=suffix[1:], **options)
