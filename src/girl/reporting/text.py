"""The texts, tables and small figures of the report, which print and need no script."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from girl.evaluation.label_probe import LabelProbe
from girl.evaluation.neighborhood import GIRL, NeighborhoodScore
from girl.evaluation.quality import Quality
from girl.methods.choice import Choice

#: Classes that the confusion matrix shows at most.
MAX_CONFUSION = 20


def number(value: object) -> str:
    """A count with thousands separators, a float with three digits, anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if not math.isfinite(value):
        return "–"
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15):
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def percent(fraction: float, digits: int = 1) -> str:
    """A fraction in percent; a small one that is not zero is not shown as zero."""
    text = f"{100 * fraction:.{digits}f}"
    return f"{text}\u00a0%" if float(text) or not fraction else f"<\u00a0{10**-digits:g}\u00a0%"


def highlights(quality: Quality) -> list[tuple[str, str]]:
    """The most important numbers, each with an explanation."""
    rows = []
    if quality.label_probe is not None:
        scores = quality.label_probe.accuracy
        others = "".join(f"; {name} {percent(score.mean)}" for name, score in scores.items() if name != GIRL)
        rows.append((percent(scores[GIRL].mean), f"accuracy of a linear classifier on the embedding{others}"))
    if quality.neighborhood:
        ours, chance = quality.neighborhood[-1], quality.chance
        if ours.link_auc is not None:
            rows.append((f"{ours.link_auc:.2f}", "AUC: neighbours are more similar than other nodes; chance 0.50"))
        if ours.one_hop is not None and chance.one_hop is not None:
            words = f"of a node’s nearest are its neighbours in the graph; chance {percent(chance.one_hop)}"
            rows.append((percent(ours.one_hop, 0), words))
    rows.append((f"{quality.effective_rank:.1f}", f"effective rank: directions in use, of {quality.width} columns"))
    return rows


# The data and the training.


def explained_rows(choice: Choice | None) -> list[tuple[str, float]]:
    """What was hidden from the bands, in words, and the share that they explain; at least 0."""
    return [] if choice is None else choice.explained_rows()


def degree_bars(degree: NDArray[np.integer]) -> list[tuple[str, int, float]]:
    """A histogram of degrees (or sizes): range, count, and the count relative to the largest."""
    most = int(degree.max(initial=0))
    # Above ten, bins double in width, which shows both the many leaves and the few hubs.
    doubling = [0, *(2**power for power in range(most.bit_length() + 1))]
    edges = list(range(most + 2)) if most <= 10 else doubling
    names = [str(low) if high == low + 1 else f"{low:,}–{high - 1:,}" for low, high in pairwise(edges)]
    bars = _histogram(degree, np.array(edges), names)
    while len(bars) > 1 and not bars[0][1]:  # usually no node is isolated
        bars.pop(0)
    return bars


def size_bars(sizes: NDArray[np.integer]) -> list[tuple[str, int, float]]:
    """A histogram of the graphs' numbers of nodes, with bins of equal width if the sizes are similar."""
    least, most = int(sizes.min()), int(sizes.max())
    if most <= 10 or most > 8 * max(least, 1):
        return degree_bars(sizes)
    step = next(s * 10**power for power in range(19) for s in (1, 2, 5) if most - least < 10 * s * 10**power)
    edges = np.arange(least // step * step, most + step + 1, step)
    names = [str(low) if step == 1 else f"{low:,}–{low + step - 1:,}" for low in edges[:-1].tolist()]
    return _histogram(sizes, edges, names)


def _histogram(
    values: NDArray[np.integer], edges: NDArray[np.integer], names: list[str]
) -> list[tuple[str, int, float]]:
    counts, _ = np.histogram(values, bins=edges - 0.5)
    return list(zip(names, counts.tolist(), (counts / max(counts.max(), 1)).tolist(), strict=True))


@dataclass(frozen=True)
class Curve:
    """ρ̂ of one layer over the epochs."""

    name: str
    path: str
    """An SVG path in a square of 100 × 100, y downwards."""
    first: float
    last: float
    trend: str


@dataclass(frozen=True)
class Training:
    """The curves of all layers and their axes."""

    curves: list[Curve]
    ticks: list[tuple[float, str]]
    """Positions (percent from the top) and labels of the y axis."""
    epochs: int


def training(history: list[dict[str, float]]) -> Training | None:
    """The training curves; None if nothing was trained."""
    names = list(dict.fromkeys(name for epoch in history for name in epoch))
    if not names:
        return None
    series = {name: np.array([epoch.get(name, math.nan) for epoch in history]) for name in names}
    values = np.concatenate(list(series.values()))
    low, high, step = _axis(float(np.nanmin(values)), float(np.nanmax(values)))
    xs = np.linspace(0, 100, len(history)) if len(history) > 1 else np.array([50.0])
    curves = []
    for name, line in series.items():
        finite = np.isfinite(line)
        ys = line[finite]
        points = [f"{x:.2f},{100 * (high - y) / (high - low):.2f}" for x, y in zip(xs[finite], ys, strict=True)]
        path = "M" + "L".join(points if len(points) > 1 else points * 2)
        curves.append(Curve(name, path, float(ys[0]), float(ys[-1]), _trend(ys)))
    count, digits = round((high - low) / step), max(0, -math.floor(math.log10(step)))
    ticks = [(100 * i / count, f"{high - i * step:.{digits}f}") for i in range(count + 1)]
    return Training(curves, ticks, len(history))


def _axis(low: float, high: float) -> tuple[float, float, float]:
    """A round range that contains the values, and a round step."""
    span = max(high - low, 0.05)
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 10 ** math.ceil(math.log10(span))) if span / s <= 5)
    return max(0.0, math.floor(low / step)) * step, (math.floor(high / step) + 1) * step, step


def _trend(line: NDArray[np.float64]) -> str:
    """The trend of the last tenth of a curve, in words."""
    if len(line) < 5:
        return "too few epochs to see a trend"
    tail = max(len(line) // 10, 2)
    first, before, after = line[:tail].mean(), line[-2 * tail : -tail].mean(), line[-tail:].mean()
    # The standard error of the difference of two such means, estimated from the jumps between epochs.
    error = np.diff(line[-2 * tail :]).std() / math.sqrt(tail)
    if after > first * 1.02 + 3 * error:
        return "increased: try a smaller learning rate"
    if before - after > max(0.05 * max(line[0] - line.min(), 1e-3), 3 * error):
        return "still decreasing: more epochs may help"
    return "converged"


# The quality.


@dataclass(frozen=True)
class Bar:
    """A table cell with a bar behind its value."""

    text: str
    length: float


def neighborhood_rows(quality: Quality) -> list[tuple[str, list[Bar]]]:
    """The table of neighbourhood scores: chance, baselines, embedding."""

    def bars(row: NeighborhoodScore) -> list[Bar]:
        auc = Bar("–", 0) if row.link_auc is None else Bar(f"{row.link_auc:.3f}", max(0.0, 2 * row.link_auc - 1))
        return [auc, *(Bar("–", 0) if hop is None else Bar(percent(hop), hop) for hop in (row.one_hop, row.two_hops))]

    return [(row.name, bars(row)) for row in (quality.chance, *quality.neighborhood)]


@dataclass(frozen=True)
class Span:
    """A confidence interval on an axis, in percent of its length."""

    name: str
    text: str
    interval: str
    left: float
    width: float
    dot: float


def accuracy_rows(probe: LabelProbe) -> tuple[list[Span], list[str], list[tuple[str, str, str]]]:
    """Accuracies on an axis, the axis labels, and the gain of GIRL over each baseline."""
    start = min(math.floor(20 * min(row.low for row in probe.accuracy.values())) / 20, 0.9)
    room = 1 - start
    spans = [
        Span(
            name,
            percent(row.mean),
            f"{100 * row.low:.1f} to {100 * row.high:.1f}\u00a0%",
            100 * (row.low - start) / room,
            100 * (row.high - row.low) / room,
            100 * (row.mean - start) / room,
        )
        for name, row in probe.accuracy.items()
    ]
    gains = []
    for name, gain in probe.gain.items():
        verdict = "better" if gain.low > 0 else "worse" if gain.high < 0 else "no significant difference"
        points = f"{100 * gain.mean:+.1f} points ({100 * gain.low:+.1f} to {100 * gain.high:+.1f})".replace("-", "−")
        gains.append((name, points, verdict))
    middle = percent(1 - room / 2, 0 if round(1000 * room) % 20 == 0 else 1)
    return spans, [percent(start, 0), middle, percent(1, 0)], gains


def confusion_rows(probe: LabelProbe) -> tuple[list[str], list[tuple[str, list[tuple[int, float]]]], int]:
    """The classes shown, their rows of counts and fractions, and the number of classes not shown."""
    table = np.array(probe.confusion)
    shown = np.sort(np.argsort(-table.sum(1), kind="stable")[:MAX_CONFUSION])
    names = [probe.classes[index] for index in shown]
    counts = table[np.ix_(shown, shown)]
    fractions = counts / np.maximum(table[shown].sum(1, keepdims=True), 1)
    rows = [
        (name, list(zip(*cells, strict=True)))
        for name, *cells in zip(names, counts.tolist(), fractions.tolist(), strict=True)
    ]
    return names, rows, len(table) - len(shown)
