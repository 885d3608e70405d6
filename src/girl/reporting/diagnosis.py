"""The figure of `girl diagnose`: the fraction of the labels that each layer has lost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.ticker import MaxNLocator

from girl.evaluation.diagnosis import Diagnosis
from girl.reporting.figure import COLORS, panels


def draw_diagnosis(runs: Sequence[Diagnosis], path: Path, columns: int | None = None, last: str = "best epoch") -> Path:
    """A panel for each run: the fraction lost over the layers, epochs from pale to dark, the final model in colour.

    Args:
        runs: the measured runs.
        path: the file without a suffix; .svg and .png are written.
        columns: number of panels side by side.
        last: the name of the coloured line.
    """
    columns = columns or min(3, len(runs))
    size = (3.6 * columns, 0.9 + 2.9 * -(-len(runs) // columns))
    greys = mpl.colormaps["Greys"]
    with panels(path, "Where are the labels lost?", [run.title for run in runs], columns, size) as axes:
        for axis, run in zip(axes, runs, strict=True):
            end = len(run.trace) - 1
            for index, epoch in enumerate(run.trace):
                values = [value for name, value in epoch.items() if name != "epoch"]
                label = f"epoch {epoch['epoch']:.0f}" if index in (0, end) else None
                color = greys(0.25 + 0.6 * index / max(end, 1))
                axis.plot(range(1, len(values) + 1), values, color=color, linewidth=0.9, label=label)
            axis.plot(range(len(run.layers)), run.layers, color=COLORS["ours"], marker="o", markersize=3.5, label=last)
            axis.axhline(1, color=COLORS["theory"], linewidth=0.8, linestyle=":")
            axis.set_ylim(0, 1.15)
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
            axis.set_xlabel("layer" if math.isnan(run.layers[0]) else "layer (0: the features)")
            axis.set_ylabel("fraction of the labels lost")
            axis.legend(loc="lower left", fontsize=7)
    return path.with_suffix(".png")
