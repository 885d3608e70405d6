"""Mean ranks of methods over datasets, and which of them the datasets tell apart (after Demšar, 2006)."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import mean

from scipy.stats import studentized_range

from girl.lab.markdown import markdown, not_yet
from girl.lab.scores import Scores
from girl.lab.tables.comparison import Arena, shown
from girl.reporting.figure import COLORS, figure

#: Chance of calling equal methods different, for the critical difference of mean ranks.
LEVEL = 0.05


def ranks(scores: Scores, arena: Arena) -> tuple[dict[str, float], int]:
    """Mean ranks (1 is best) over the places where every method has a result, and how many those are."""
    places = [
        (d, p) for d, p in shown(scores, arena) if all(scores.by_seed(d, p, name) for name in arena.methods)
    ]  # fmt: skip
    totals = dict.fromkeys(arena.methods, 0.0)
    for place in places:
        means = {name: mean(scores.by_seed(*place, name).values()) for name in arena.methods}
        for name, value in means.items():
            above = sum(other > value for other in means.values())
            same = sum(other == value for other in means.values())
            totals[name] += above + (same + 1) / 2
    return {name: total / max(len(places), 1) for name, total in totals.items()}, len(places)


def critical_difference(methods: int, places: int) -> float:
    """The difference of mean ranks above which two of some methods differ (Nemenyi's test, after Demšar, 2006)."""
    quantile = float(studentized_range.ppf(1 - LEVEL, methods, 10**6)) / math.sqrt(2)
    return quantile * math.sqrt(methods * (methods + 1) / (6 * places))


def table_ranks(scores: Scores, arena: Arena) -> str:
    """Mean ranks, best first, and what they come to."""
    found, count = ranks(scores, arena)
    if count < 2:
        return not_yet(arena.command)
    rows = [[name, f"{rank:.2f}"] for name, rank in sorted(found.items(), key=lambda item: item[1])]
    least = critical_difference(len(found), count)
    text = (
        f"\nOver {count} rows of the table above. Mean ranks that differ by less than {least:.2f} do not tell methods "
        f"apart (Nemenyi's test, {LEVEL:.0%}).\n"
    )
    return markdown(["method", "mean rank"], rows) + text


def alike(found: dict[str, float], least: float) -> list[tuple[float, float]]:
    """The longest stretches of mean ranks within which no two methods differ by the critical difference."""
    order = sorted(found.values())
    ends = [max(rank for rank in order if rank - first < least) for first in order]
    stretches = [(first, last) for first, last in zip(order, ends, strict=True) if last > first]
    return [s for s in dict.fromkeys(stretches) if not any(o != s and o[0] <= s[0] and s[1] <= o[1] for o in stretches)]


def draw_ranks(scores: Scores, arena: Arena, folder: Path) -> Path | None:
    """The diagram of critical differences: methods on an axis of mean ranks, bars over those that are not told apart.

    None if there is nothing to draw.
    """
    found, count = ranks(scores, arena)
    if count < 2:
        return None
    least = critical_difference(len(found), count)
    order = sorted(found, key=found.__getitem__)
    half = (len(order) + 1) // 2
    bars = alike(found, least)
    path = folder / f"ranks_{arena.name}"
    with figure(
        path, f"Mean rank over {count} rows, 1 is best", "", "", (7.2, 1.2 + 0.28 * (half + len(bars)))
    ) as axes:
        axes.set_axis_off()
        axes.set_ylim(-half - len(bars) * 0.5 - 0.6, 1.9)
        axes.set_xlim(1 - 0.3 * len(order), 1.3 * len(order))
        axes.hlines(0, 1, len(order), color=COLORS["theory"], linewidth=1)
        for tick in range(1, len(order) + 1):
            axes.vlines(tick, 0, 0.15, color=COLORS["theory"], linewidth=1)
            axes.text(tick, 0.25, str(tick), ha="center", fontsize=9)
        axes.hlines(1.2, 1, 1 + least, color=COLORS["theory"], linewidth=2)
        axes.text(1 + least + 0.1, 1.2, f"critical difference {least:.2f}", va="center", fontsize=9)
        for place, (first, last) in enumerate(bars):
            axes.hlines(-0.35 - 0.5 * place, first - 0.05, last + 0.05, color=COLORS["theory"], linewidth=4)
        for place, name in enumerate(order):
            left = place < half
            height = -0.5 * len(bars) - 0.7 - (place if left else len(order) - 1 - place)
            edge = 0.8 if left else len(order) + 0.2
            color = COLORS["ours"] if name == "girl" else COLORS["theory"]
            axes.plot([found[name], found[name], edge], [0, height, height], color=color, linewidth=1)
            axes.text(
                edge + (-0.1 if left else 0.1),
                height,
                f"{name}  {found[name]:.2f}" if left else f"{found[name]:.2f}  {name}",
                ha="right" if left else "left",
                va="center",
                color=color,
                fontweight="bold" if name == "girl" else "normal",
                fontsize=9,
            )
    return path.with_suffix(".png")
