"""Mean ranks of methods over datasets, and which of them differ significantly (after Demšar, 2006)."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import mean

from scipy.stats import rankdata, studentized_range

from girl.lab.markdown import figure_block, markdown_table, not_computed
from girl.lab.scores import MethodScores
from girl.reporting.figure import COLORS, figure

#: Probability of calling equal methods different, for the critical difference of mean ranks.
LEVEL = 0.05


def mean_ranks(scores: MethodScores) -> tuple[dict[str, float], int]:
    """Mean ranks (1 is best) over the rows of the table where every method has a result, and how many those are."""
    rows = [row for row in scores.rows if all(scores.by_seed(*row, name) for name in scores.methods)]
    totals = dict.fromkeys(scores.methods, 0.0)
    for row in rows:
        means = [mean(scores.by_seed(*row, name).values()) for name in scores.methods]
        for name, rank in zip(scores.methods, rankdata([-value for value in means]), strict=True):
            totals[name] += float(rank)
    return {name: total / max(len(rows), 1) for name, total in totals.items()}, len(rows)


def critical_difference(methods: int, rows: int) -> float:
    """The difference of mean ranks from which on two methods differ significantly (Nemenyi's test; Demšar, 2006)."""
    quantile = float(studentized_range.ppf(1 - LEVEL, methods, 10**6)) / math.sqrt(2)
    return quantile * math.sqrt(methods * (methods + 1) / (6 * rows))


def table_ranks(scores: MethodScores) -> str:
    """Mean ranks, best first, and the critical difference."""
    ranks, count = mean_ranks(scores)
    if count < 2:
        return not_computed(scores.command)
    rows = [[name, f"{rank:.2f}"] for name, rank in sorted(ranks.items(), key=lambda item: item[1])]
    critical = critical_difference(len(ranks), count)
    note = (
        f"\nOver {count} rows of the table above. Mean ranks that differ by less than {critical:.2f} do not differ "
        f"significantly (Nemenyi's test, {LEVEL:.0%}).\n"
    )
    return markdown_table(["method", "mean rank"], rows) + note


def indistinguishable(ranks: dict[str, float], critical: float) -> list[tuple[float, float]]:
    """The longest ranges of mean ranks within which no two methods differ by the critical difference."""
    order = sorted(ranks.values())
    ends = [max(rank for rank in order if rank - first < critical) for first in order]
    ranges = [(first, last) for first, last in zip(order, ends, strict=True) if last > first]
    return [r for r in dict.fromkeys(ranges) if not any(o != r and o[0] <= r[0] and r[1] <= o[1] for o in ranges)]


def draw_ranks(scores: MethodScores, folder: Path) -> Path | None:
    """The diagram of critical differences: methods on an axis of mean ranks, bars over those that do not differ.

    None if there is nothing to draw.
    """
    ranks, count = mean_ranks(scores)
    if count < 2:
        return None
    critical = critical_difference(len(ranks), count)
    order = sorted(ranks, key=ranks.__getitem__)
    half = (len(order) + 1) // 2
    bars = indistinguishable(ranks, critical)
    path = folder / f"ranks_{scores.name}"
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
        axes.hlines(1.2, 1, 1 + critical, color=COLORS["theory"], linewidth=2)
        axes.text(1 + critical + 0.1, 1.2, f"critical difference {critical:.2f}", va="center", fontsize=9)
        for index, (first, last) in enumerate(bars):
            axes.hlines(-0.35 - 0.5 * index, first - 0.05, last + 0.05, color=COLORS["theory"], linewidth=4)
        for index, name in enumerate(order):
            left = index < half
            height = -0.5 * len(bars) - 0.7 - (index if left else len(order) - 1 - index)
            edge = 0.8 if left else len(order) + 0.2
            color = COLORS["ours"] if name == "girl" else COLORS["theory"]
            axes.plot([ranks[name], ranks[name], edge], [0, height, height], color=color, linewidth=1)
            axes.text(
                edge + (-0.1 if left else 0.1),
                height,
                f"{name}  {ranks[name]:.2f}" if left else f"{ranks[name]:.2f}  {name}",
                ha="right" if left else "left",
                va="center",
                color=color,
                fontweight="bold" if name == "girl" else "normal",
                fontsize=9,
            )
    return path.with_suffix(".png")


def render(scores: MethodScores, folder: Path) -> dict[str, str]:
    """The table of mean ranks, and the diagram."""
    alt = f"Methods on an axis of mean ranks, on {scores.name}"
    caption = f"A bar joins methods whose mean ranks do not differ significantly (Nemenyi's test, {LEVEL:.0%})."
    return {
        f"methods_{scores.name}_ranks": table_ranks(scores),
        f"ranks_{scores.name}_figure": figure_block(draw_ranks(scores, folder), alt, caption, scores.command),
    }
