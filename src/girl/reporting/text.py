"""What the report says in words, tables and small figures: they print, and need no script."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from girl.evaluation.label_probe import Probed
from girl.evaluation.neighborhood import GIRL, Likeness
from girl.evaluation.quality import Quality

#: Classes that the table of confusions has room for.
CONFUSED = 20


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
    if quality.probed is not None:
        others = [f"{name} {percent(got.mean)}" for name, got in quality.probed.accuracy.items() if name != GIRL]
        beside = f"; {', '.join(others)}" if others else ""
        found.append((percent(quality.probed.accuracy[GIRL].mean), f"of labels a linear classifier reads{beside}"))
    ours = quality.likeness[-1] if quality.likeness else quality.chance  # of a set of graphs nothing is held against
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
    """Numbers of neighbours (or of a graph's nodes), how many have them, and the share of the longest bar."""
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


def size_bars(sizes: NDArray[np.integer]) -> list[tuple[str, int, float]]:
    """Numbers of nodes, how many graphs have them, and the share of the longest bar: even steps if they are alike."""
    least, most = int(sizes.min()), int(sizes.max())
    if most <= 10 or most > 8 * max(least, 1):
        return degree_bars(sizes)
    step = next(s * 10**power for power in range(19) for s in (1, 2, 5) if most - least < 10 * s * 10**power)
    edges = np.arange(least // step * step, most + step + 1, step)
    counts, _ = np.histogram(sizes, bins=edges - 0.5)
    names = [str(low) if step == 1 else f"{low:,}–{low + step - 1:,}" for low in edges[:-1].tolist()]
    return list(zip(names, counts.tolist(), (counts / counts.max()).tolist(), strict=True))


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
    first, before, after = line[:tail].mean(), line[-2 * tail : -tail].mean(), line[-tail:].mean()
    # What chance alone makes of the difference of two such means, told from how the curve jumps about its trend.
    chance = np.diff(line[-2 * tail :]).std() / math.sqrt(tail)
    if after > first * 1.02 + 3 * chance:
        return "rose: a smaller learning rate may help"
    if before - after > max(0.05 * max(line[0] - line.min(), 1e-3), 3 * chance):
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
