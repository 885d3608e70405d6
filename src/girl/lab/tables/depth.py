"""The depth study's table and figures, from ``girl reproduce depth``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.lines import Line2D

from girl.evaluation.diagnosis import Diagnosis
from girl.evaluation.metrics import Comparison, Summary
from girl.lab import published
from girl.lab.depth import DEPTHS, PLANS, chosen, name_of
from girl.lab.markdown import markdown, not_yet
from girl.lab.scores import TITLES, Scores, emphasised, gains, seeds_in_words
from girl.reporting.diagnosis import draw_diagnosis
from girl.reporting.figure import COLORS, panels
from girl.training.supervised import KINDS, Kind

NAMES: dict[Kind, str] = {"none": "none", "weight_decay": "weight decay", "fully_adjacent": "+FA", "kr": "KR"}
TINTS: dict[Kind, str] = {
    "none": COLORS["theory"],
    "weight_decay": COLORS["fourth"],
    "fully_adjacent": COLORS["second"],
    "kr": COLORS["ours"],
}

NOT_YET = not_yet("girl reproduce depth")

#: A regulariser may cost this at depth 3, in points.
COST = 1.0


class DepthScores:
    """Scores of the chosen candidates.

    Args:
        cells: results of the study.
    """

    def __init__(self, cells: Sequence[dict[str, Any]]) -> None:
        self.cells = cells
        self.scores = Scores(cells, "none")
        present = {cell["dataset"] for cell in cells}
        self.datasets = [name for name in PLANS if name in present]
        self.methods = {
            (name, kind, depth): name_of(kind, depth, value)
            for name in self.datasets
            for kind in KINDS
            for depth in DEPTHS
            if (value := chosen(cells, name, kind, depth)) is not None
        }

    def summary(self, dataset: str, kind: Kind, depth: int, part: str = "test") -> Summary | None:
        """Mean and spread of the chosen candidate."""
        method = self.methods.get((dataset, kind, depth))
        return None if method is None else self.scores.summary(dataset, PLANS[dataset].protocol, method, part)

    def seeds(self, dataset: str, depth: int) -> int:
        """Over how many seeds all kinds are known."""
        found = [self.summary(dataset, kind, depth) for kind in KINDS]
        return min((0 if value is None else value.count) for value in found)

    def difference(self, dataset: str, depth: int, kind: Kind, other: Kind) -> Comparison | None:
        """How much better one kind is than another, pair by pair."""
        names = [self.methods.get((dataset, one, depth)) for one in (kind, other)]
        if names[0] is None or names[1] is None:
            return None
        return self.scores.difference(dataset, PLANS[dataset].protocol, names[0], names[1])


def table_depth(found: DepthScores) -> str:
    """A table for each dataset: kinds over depths, the paper's numbers beneath ours where it has them."""
    paper = {(row["dataset"], int(row["depth"]), row["method"]): row for row in published.table("depth")}
    texts = []
    for name in found.datasets:
        columns = [[found.summary(name, kind, depth) for kind in KINDS] for depth in DEPTHS]
        shown = [emphasised(column) for column in columns]
        counts = [value.count for column in columns for value in column if value is not None]
        rows = []
        for at, kind in enumerate(KINDS):
            rows.append([NAMES[kind], *(column[at] for column in shown)])
            printed = [paper.get((TITLES.get(name, name), depth, kind)) for depth in DEPTHS]
            if any(printed):
                cells = ["–" if row is None else f"{row['accuracy']} ± {row['std']}" for row in printed]
                rows.append([f"{NAMES[kind]}, the paper", *cells])
        title = f"**{found.scores.title(name)}**, `{PLANS[name].protocol}`, seeds: {seeds_in_words(counts)}"
        texts.append(f"{title}\n\n{markdown(['layers', *map(str, DEPTHS)], rows)}")
    return "\n".join(texts) if texts else NOT_YET


def facts(found: DepthScores) -> str:
    """What the study says, as a Markdown list."""
    deepest, first = max(DEPTHS), min(DEPTHS)
    ready = [name for name in found.datasets if all((name, kind, deepest) in found.methods for kind in KINDS)]
    if not ready:
        return NOT_YET
    best, above, cheap, known = [], [], [], []
    for name in ready:
        means = {kind: value.mean for kind in KINDS if (value := found.summary(name, kind, deepest)) is not None}
        best += [name] if max(means, key=lambda kind: means[kind]) == "kr" else []
        above += [name] if gains(found.difference(name, deepest, "kr", "none")) else []
        cost = found.difference(name, first, "none", "kr")
        if cost is not None:
            known.append(name)
            cheap += [name] if 100 * cost.difference <= COST else []

    def told(names: list[str], all_: list[str]) -> str:
        return f"{len(names)} of {len(all_)} datasets ({', '.join(map(found.scores.title, names)) or 'none'})"

    least = {name: found.seeds(name, deepest) for name in ready}
    lacking = [
        f"{found.scores.title(name)} {count} of {PLANS[name].seeds}"
        for name, count in least.items()
        if count < PLANS[name].seeds
    ]
    lines = [f"- Not all of the study is there. Seeds at depth {deepest}: {', '.join(lacking)}."] if lacking else []
    lines += [
        f"- At depth {deepest}, KR is the best of the four on {told(best, ready)}.",
        f"- At depth {deepest}, KR is above no regularisation by more than one standard error on {told(above, ready)}.",
        f"- At depth {first}, KR costs at most {COST:g} point against no regularisation on {told(cheap, known)}.",
    ]
    reached, asked = _against_paper(found)
    if asked:
        lines.append(f"- Of the paper's KR numbers on Texas and Actor, {reached} of {asked} are reached.")
    return "\n".join(lines) + "\n"


def _against_paper(found: DepthScores) -> tuple[int, int]:
    reached = asked = 0
    for row in published.table("depth"):
        name = {"Texas": "texas", "Actor": "actor"}.get(row["dataset"])
        if name is None or row["method"] != "kr":
            continue
        ours = found.summary(name, "kr", int(row["depth"]))
        if ours is not None:
            asked += 1
            reached += round(100 * ours.mean, 1) >= float(row["accuracy"])
    return reached, asked


def draw_depth(found: DepthScores, folder: Path) -> Path | None:
    """The paper's figure: train and test accuracy over the depth, with bands; None if there is nothing to draw."""
    if not found.methods:
        return None
    path = folder / "depth"
    columns = min(3, len(found.datasets))
    tall = -(-len(found.datasets) // columns)
    names = [f"{found.scores.title(name)}, {PLANS[name].protocol}" for name in found.datasets]
    with panels(path, "Accuracy over depth", names, columns, (3.7 * columns, 1.0 + 2.7 * tall)) as axes:
        for axis, name in zip(axes, found.datasets, strict=True):
            for kind in KINDS:
                for part, line in (("train", ":"), ("test", "-")):
                    values = [(depth, found.summary(name, kind, depth, part)) for depth in DEPTHS]
                    known = [(depth, value) for depth, value in values if value is not None]
                    at = [depth for depth, _ in known]
                    mean = np.array([100 * value.mean for _, value in known])
                    band = np.array([100 * (value.std or 0) for _, value in known])
                    axis.plot(at, mean, line, color=TINTS[kind], linewidth=1.8 if part == "test" else 1.1)
                    if part == "test":
                        axis.fill_between(at, mean - band, mean + band, color=TINTS[kind], alpha=0.13, linewidth=0)
            axis.set_xticks(DEPTHS)
            axis.set_xlabel("message-passing layers")
            axis.set_ylabel("accuracy, %")
        keys = [Line2D([], [], color=TINTS[kind], label=NAMES[kind]) for kind in KINDS]
        keys.append(Line2D([], [], color=COLORS["theory"], label="test"))
        keys.append(Line2D([], [], color=COLORS["theory"], linestyle=":", label="training"))
        axes[0].figure.legend(handles=keys, loc="outside lower center", ncols=6 if columns > 1 else 3)
    return path.with_suffix(".png")


def draw_watched(found: DepthScores, folder: Path) -> Path | None:
    """Where the labels go at the greatest depth, without and with KR, on the datasets whose layers were watched."""
    runs = []
    for name in found.datasets:
        pair = []
        for kind in ("none", "kr"):
            method = found.methods.get((name, kind, max(DEPTHS)))
            row = next((c for c in found.cells if (c["dataset"], c["method"], c["seed"]) == (name, method, 0)), None)
            if row is not None and "observed" in row:
                trace = row["observed"]
                last = [value for key, value in trace[-1].items() if key != "epoch"]
                pair.append(Diagnosis(f"{found.scores.title(name)}: {NAMES[kind]}", [float("nan"), *last], trace))
        runs += pair if len(pair) == 2 else []
    return draw_diagnosis(runs, folder / "depth_layers", columns=2, last="last epoch") if runs else None
