"""How the judge ranks representations beside labels: tables and a figure from ``girl reproduce judge``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

from matplotlib.lines import Line2D
from scipy.stats import spearmanr

from girl.graph.hidden import TARGETS
from girl.kernel.scales import score_of_shares
from girl.lab.default import DEFAULT_PROTOCOLS
from girl.lab.judge import KINDS, Judge
from girl.lab.markdown import figure_block, markdown_list, markdown_table, not_computed
from girl.lab.scores import TITLES, number_range, title_of
from girl.reporting.figure import COLORS, panels

COMMAND = Judge().command
#: A graph takes part when it has at least this many representations.
LEAST = 5
#: The aims: the median of Spearman's coefficients, and the regret in points, in the median and anywhere.
AIM_SPEARMAN, AIM_REGRET, AIM_LARGEST = 0.8, 0.5, 2.0

Shares = Mapping[str, float]
#: Makes one number of the explained shares, to rank by; None where a share that it needs is missing.
Rule = Callable[[Shares], float | None]

TINTS = {
    "control": COLORS["theory"],
    "bands": COLORS["second"],
    "default": COLORS["paper"],
    "girl": COLORS["ours"],
    "peer": COLORS["third"],
}
KIND_TEXT = {
    "control": "control",
    "bands": "bands at fixed scales",
    "default": "the default",
    "girl": "GIRL's encoder",
    "peer": "other methods",
}
#: The mark of the first choice.
RING: dict[str, Any] = {"marker": "o", "markersize": 10, "mfc": "none", "mec": "black", "linestyle": ""}


def score(shares: Shares) -> float:
    """The judge's own rule."""
    names = [name for name in TARGETS if name in shares]
    return score_of_shares([shares[name] for name in names], [TARGETS[name] for name in names])


def _alone(target: str) -> Rule:
    return lambda shares: shares.get(target)


def _logarithms(floor: float) -> Rule:
    return lambda shares: _weighted(shares, lambda share: math.log(floor + max(share, 0.0)))


def _weighted(shares: Shares, function: Callable[[float], float]) -> float:
    total = sum(TARGETS[name] for name in shares)
    return sum(TARGETS[name] * function(share) for name, share in shares.items()) / total


#: Rules that are compared.
RULES: dict[str, Rule] = {
    "the judge's score": score,
    "hidden columns alone": _alone("columns"),
    "hidden neighbours alone": _alone("neighbors"),
    "hidden positions alone": _alone("positions"),
    "weighted mean of shares": lambda shares: _weighted(shares, lambda share: share),
    "plain mean of shares": lambda shares: mean(shares.values()),
    "largest share": lambda shares: max(shares.values()),
    "logarithms, floor 0.3 %": _logarithms(0.003),
    "logarithms, floor 1 %": _logarithms(0.01),
    "logarithms, floor 5 %": _logarithms(0.05),
    "logarithms, floor 10 %": _logarithms(0.1),
}


@dataclass(frozen=True)
class Judged:
    """One representation: what it explains, and how well labels are predicted from it."""

    name: str
    kind: str
    shares: dict[str, float]
    accuracy: float
    """On validation nodes, in percent."""
    by_split: tuple[float, ...]
    """The same for each split."""


@dataclass(frozen=True)
class Ranking:
    """The representations of one graph under one protocol."""

    dataset: str
    title: str
    protocol: str
    entries: tuple[Judged, ...]

    def spearman(self, rule: Rule) -> float | None:
        """The rank correlation of a rule and accuracy; None if the rule does not apply or all are equal."""
        values = [rule(entry.shares) for entry in self.entries]
        return None if None in values else _spearman(values, [entry.accuracy for entry in self.entries])

    def choice(self, rule: Rule) -> Judged | None:
        """The first choice of a rule."""
        values = {entry.name: rule(entry.shares) for entry in self.entries}
        return None if None in values.values() else max(self.entries, key=lambda entry: values[entry.name] or 0.0)

    def regret(self, choice: Judged | None) -> float | None:
        """Points between a choice and the best."""
        return None if choice is None else self.best.accuracy - choice.accuracy

    @property
    def best(self) -> Judged:
        return max(self.entries, key=lambda entry: entry.accuracy)

    def named(self, name: str) -> Judged | None:
        """A representation by its name."""
        return next((entry for entry in self.entries if entry.name == name), None)

    @property
    def random_regret(self) -> float:
        """The mean regret of a choice by chance."""
        return self.best.accuracy - mean(entry.accuracy for entry in self.entries)

    @property
    def halves(self) -> float | None:
        """The rank correlation of accuracies on every other split with those on the rest: how sure the labels are."""
        if len(self.entries[0].by_split) < 2:
            return None
        even, odd = ([mean(entry.by_split[start::2]) for entry in self.entries] for start in (0, 1))
        return _spearman(even, odd)


def _spearman(a: Sequence[Any], b: Sequence[float]) -> float | None:
    if len(set(a)) < 2 or len(set(b)) < 2:
        return None
    return float(spearmanr(a, b).statistic)


def rankings(results: Sequence[dict[str, Any]], index: int = 0) -> list[Ranking]:
    """The rankings under each graph's first protocol (``index`` 0) or second (1); means over seeds that all have."""
    found = []
    for dataset, protocols in DEFAULT_PROTOCOLS.items():
        cells = [r for r in results if r["dataset"] == dataset and r["rows"]]
        if index >= len(protocols) or not cells:
            continue
        first = [cell for cell in cells if cell["seed"] == 0]
        seeds = {cell["seed"] for cell in cells}
        complete = {s for s in seeds if {c["method"] for c in cells if c["seed"] == s} >= {c["method"] for c in first}}
        entries = [
            entry
            for cell in first
            if (entry := _judged([c for c in cells if c["method"] == cell["method"]], complete, protocols[index]))
        ]
        if len(entries) >= LEAST:
            title = title_of(TITLES.get(dataset, dataset), bool(first[0].get("stand_in")))
            found.append(Ranking(dataset, title, protocols[index], tuple(entries)))
    return found


def _judged(cells: Sequence[dict[str, Any]], seeds: set[int], protocol: str) -> Judged | None:
    """One representation, from its cells of each seed."""
    cells = [cell for cell in cells if cell["seed"] in seeds]
    rows = [row for cell in cells for row in cell["rows"] if row["protocol"] == protocol]
    if not rows:
        return None
    names = [name for name in TARGETS if all(name in cell["explained"] for cell in cells)]
    shares = {name: mean(cell["explained"][name] for cell in cells) for name in names}
    by_split = tuple(100 * value for row in rows for value in row["vals"])
    return Judged(cells[0]["method"], cells[0]["kind"], shares, 100 * mean(row["val"] for row in rows), by_split)


def _number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _summarised(title: str, function: Callable[[Sequence[float]], float], columns: Sequence[Sequence[float | None]],
                digits: int) -> list[str]:  # fmt: skip
    cells = []
    for column in columns:
        values = [value for value in column if value is not None]
        cells.append(_number(function(values) if values else None, digits))
    return [title, *cells]


def table_spearman(ranked: Sequence[Ranking]) -> str:
    """Spearman's coefficient of accuracy with the score, with each target alone, and of the labels with themselves."""
    if not ranked:
        return not_computed(COMMAND)
    rules: list[Rule] = [score, *(_alone(target) for target in TARGETS)]
    rows = [[*(ranking.spearman(rule) for rule in rules), ranking.halves] for ranking in ranked]
    body = [
        [f"{ranking.title}, `{ranking.protocol}`", str(len(ranking.entries)), *map(_number, row)]
        for ranking, row in zip(ranked, rows, strict=True)
    ]
    last = _summarised("**median**", median, list(zip(*rows, strict=True)), 2)
    head = ["", "representations", "score", "columns", "neighbours", "positions", "labels"]
    return markdown_table(head, [*body, [last[0], "", *last[1:]]])


def table_regret(ranked: Sequence[Ranking]) -> str:
    """The judge's first choice, the best, and the regret in points: of the judge, of fixed choices and of chance."""
    if not ranked:
        return not_computed(COMMAND)
    body, columns = [], []
    for ranking in ranked:
        choice, best = ranking.choice(score), ranking.best
        assert choice is not None  # the score always applies
        fixed = [ranking.regret(ranking.named(name)) for name in ("default", "ppr", "raw")]
        regrets = [ranking.regret(choice), *fixed, ranking.random_regret]
        columns.append(regrets)
        cells = [choice.name, _number(choice.accuracy, 1), best.name, _number(best.accuracy, 1)]
        body.append([f"{ranking.title}, `{ranking.protocol}`", *cells, *(_number(regret, 1) for regret in regrets)])
    for title, function in (("**median**", median), ("**largest**", max)):
        row = _summarised(title, function, list(zip(*columns, strict=True)), 1)
        body.append([row[0], "", "", "", "", *row[1:]])
    head = ["", "first choice", "%", "best", "%", "regret", "default", "ppr", "raw", "chance"]
    return markdown_table(head, body)


def table_rules(ranked: Sequence[Ranking]) -> str:
    """Spearman's coefficient and regret of several rules, over all graphs."""
    if not ranked:
        return not_computed(COMMAND)
    body = []
    for name, rule in RULES.items():
        correlations = [value for ranking in ranked if (value := ranking.spearman(rule)) is not None]
        regrets = [value for ranking in ranked if (value := ranking.regret(ranking.choice(rule))) is not None]
        if correlations:
            numbers = [median(correlations), min(correlations)]
            points = [median(regrets), mean(regrets), max(regrets)]
            body.append([name, str(len(regrets)), *(_number(v) for v in numbers), *(_number(v, 1) for v in points)])
    head = ["rule", "graphs", "Spearman, median", "lowest", "regret, median", "mean", "largest"]
    return markdown_table(head, body)


def facts(ranked: Sequence[Ranking]) -> str:
    """Whether the aims are reached, and where not."""
    if not ranked:
        return not_computed(COMMAND)
    correlations = {ranking.title: ranking.spearman(score) or 0.0 for ranking in ranked}
    regrets = {ranking.title: ranking.regret(ranking.choice(score)) or 0.0 for ranking in ranked}
    ppr = [value for ranking in ranked if (value := ranking.regret(ranking.named("ppr"))) is not None]
    chance = [ranking.random_regret for ranking in ranked]
    low = [f"{name} ({value:.2f})" for name, value in correlations.items() if round(value, 2) < AIM_SPEARMAN]
    high = [f"{name} ({value:.1f})" for name, value in regrets.items() if value > AIM_LARGEST]
    counts = number_range([len(ranking.entries) for ranking in ranked])
    lines = [
        f"{len(ranked)} graphs, {counts} representations of each.",
        f"Spearman's coefficient of score and accuracy: {median(correlations.values()):.2f} in the median; the aim is "
        f"{AIM_SPEARMAN:g}. Below it: {', '.join(low) or 'none'}.",
        f"Regret of the judge's first choice: {median(regrets.values()):.1f} points in the median, "
        f"{mean(regrets.values()):.1f} on average; the aim is a median of {AIM_REGRET:g}, and nowhere more than "
        f"{AIM_LARGEST:g}. Above that: {', '.join(high) or 'none'}.",
        f"For comparison, on average: always `ppr` {mean(ppr):.1f} points, a choice by chance {mean(chance):.1f}."
        if ppr
        else f"For comparison, a choice by chance: {mean(chance):.1f} points on average.",
    ]
    return markdown_list(lines)


def draw(ranked: Sequence[Ranking], folder: Path) -> Path | None:
    """A panel for each graph: accuracy over score; the first choice has a ring. None if there is nothing to draw."""
    if not ranked:
        return None
    path = folder / "judge"
    columns = min(4, len(ranked))
    names = [ranking.title + ("" if (r := ranking.spearman(score)) is None else f"  ({r:.2f})") for ranking in ranked]
    size = (2.7 * columns, 1.0 + 2.2 * -(-len(ranked) // columns))
    with panels(path, "Validation accuracy, %, over the judge's score", names, columns, size) as axes:
        for axis, ranking in zip(axes, ranked, strict=True):
            # Far below the rest: drawn at the border, since the rest would be one spot otherwise.
            left = _fence([score(entry.shares) for entry in ranking.entries])
            bottom = _fence([entry.accuracy for entry in ranking.entries])
            for kind in KINDS:
                entries = [entry for entry in ranking.entries if entry.kind == kind]
                at = [max(score(entry.shares), left) for entry in entries]
                marker = "D" if kind == "default" else "o"
                accuracies = [max(entry.accuracy, bottom) for entry in entries]
                axis.scatter(at, accuracies, s=18, color=TINTS[kind], marker=marker, alpha=0.85, linewidths=0)
            choice = ranking.choice(score)
            assert choice is not None
            axis.plot(score(choice.shares), choice.accuracy, **RING)
            axis.tick_params(labelsize=8)
            axis.locator_params(nbins=4)
        keys = [
            Line2D(
                [], [], color=TINTS[kind], marker="D" if kind == "default" else "o", linestyle="", label=KIND_TEXT[kind]
            )
            for kind in KINDS
        ]
        keys.append(Line2D([], [], label="first choice", **RING))
        axes[0].figure.legend(handles=keys, loc="outside lower center", ncols=min(6, 2 * columns))
    return path.with_suffix(".png")


def _fence(values: Sequence[float]) -> float:
    """Tukey's lower fence: one and a half interquartile ranges below the first quartile."""
    first, _, third = quantiles(values, n=4)
    return first - 1.5 * (third - first)


def render(results: Sequence[dict[str, Any]], folder: Path) -> dict[str, str]:
    """Facts, tables and the figure."""
    first, second = rankings(results), rankings(results, 1)
    caption = (
        "Each point is a representation; the ring marks the judge's first choice, and the number beside a name is "
        "Spearman's coefficient. Points far below the rest are drawn at the border. Scores of different graphs "
        "cannot be compared."
    )
    return {
        "judge_facts": facts(first),
        "judge_spearman": table_spearman(first),
        "judge_regret": table_regret(first),
        "judge_rules": table_rules(first),
        "judge_more_labels": table_regret(second),
        "judge_more_labels_spearman": table_spearman(second),
        "judge_figure": figure_block(draw(first, folder), "Accuracy over the judge's score", caption, COMMAND),
    }
