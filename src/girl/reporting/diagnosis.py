"""The picture of `girl diagnose`: the share of the labels that each layer has lost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.ticker import MaxNLocator

from girl.evaluation.diagnosis import Diagnosis
from girl.reporting.figure import COLORS, panels


def draw_diagnosis(runs: Sequence[Diagnosis], path: Path, columns: int | None = None, last: str = "best epoch") -> Path:
    """A panel for each run: the share lost over the layers, epochs from pale to dark, the end in colour.

    Args:
        runs: what was measured.
        path: where to, without a suffix.
        columns: panels side by side.
        last: what the coloured line is.
    """
    columns = columns or min(3, len(runs))
    rows = -(-len(runs) // columns)
    shade = mpl.colormaps["Greys"]
    with panels(
        path, "Where do the labels go?", [run.title for run in runs], columns, (3.6 * columns, 0.9 + 2.9 * rows)
    ) as axes:
        for axis, run in zip(axes, runs, strict=True):
            for at, epoch in enumerate(run.trace):
                values = [value for name, value in epoch.items() if name != "epoch"]
                axis.plot(
                    range(1, len(values) + 1),
                    values,
                    color=shade(0.25 + 0.6 * at / max(len(run.trace) - 1, 1)),
                    linewidth=0.9,
                    label=f"epoch {epoch['epoch']:.0f}" if at in (0, len(run.trace) - 1) else None,
                )
            axis.plot(range(len(run.layers)), run.layers, color=COLORS["ours"], marker="o", markersize=3.5, label=last)
            axis.axhline(1, color=COLORS["theory"], linewidth=0.8, linestyle=":")
            axis.set_ylim(0, 1.15)
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
            axis.set_xlabel("layer" if math.isnan(run.layers[0]) else "layer (0: the features)")
            axis.set_ylabel("share of the labels lost")
            axis.legend(loc="lower left", fontsize=7)
    return path.with_suffix(".png")
