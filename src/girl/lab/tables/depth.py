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
from girl.lab.depth import DEPTHS, PLANS, Depth, chosen_candidate, method_name
from girl.lab.markdown import figure_block, markdown_list, markdown_table, not_computed
from girl.lab.scores import TITLES, Scores, bold_best, is_gain, number_range
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

COMMAND = Depth().command

#: Points that a regulariser may cost at depth 3.
MAX_COST = 1.0


class DepthScores:
    """Scores of the chosen candidates.

    Args:
        results: of the study.
    """

    def __init__(self, results: Sequence[dict[str, Any]]) -> None:
        self.results = results
        self.scores = Scores(results, "none")
        present = {result["dataset"] for result in results}
        self.datasets = [name for name in PLANS if name in present]
        self.methods = {
            (name, kind, depth): method_name(kind, depth, value)
            for name in self.datasets
            for kind in KINDS
            for depth in DEPTHS
            if (value := chosen_candidate(results, name, kind, depth)) is not None
        }

    def summary(self, dataset: str, kind: Kind, depth: int, part: str = "test") -> Summary | None:
        """Mean and standard deviation of the chosen candidate."""
        method = self.methods.get((dataset, kind, depth))
        return None if method is None else self.scores.summary(dataset, PLANS[dataset].protocol, method, part)

    def seeds(self, dataset: str, depth: int) -> int:
        """The number of seeds that all regularisers have."""
        summaries = [self.summary(dataset, kind, depth) for kind in KINDS]
        return min((0 if summary is None else summary.count) for summary in summaries)

    def difference(self, dataset: str, depth: int, kind: Kind, other: Kind) -> Comparison | None:
        """How much better one regulariser is than another, paired by seed."""
        names = [self.methods.get((dataset, one, depth)) for one in (kind, other)]
        if names[0] is None or names[1] is None:
            return None
        return self.scores.difference(dataset, PLANS[dataset].protocol, names[0], names[1])


def table_depth(scores: DepthScores) -> str:
    """A table for each dataset: regularisers over depths, the paper's numbers beneath ours where it has them."""
    paper = {(row["dataset"], int(row["depth"]), row["method"]): row for row in published.table("depth")}
    tables = []
    for name in scores.datasets:
        columns = [[scores.summary(name, kind, depth) for kind in KINDS] for depth in DEPTHS]
        cells = [bold_best(column) for column in columns]
        counts = [summary.count for column in columns for summary in column if summary is not None]
        rows = []
        for index, kind in enumerate(KINDS):
            rows.append([NAMES[kind], *(column[index] for column in cells)])
            printed = [paper.get((TITLES.get(name, name), depth, kind)) for depth in DEPTHS]
            if any(printed):
                numbers = ["–" if row is None else f"{row['accuracy']} ± {row['std']}" for row in printed]
                rows.append([f"{NAMES[kind]}, the paper", *numbers])
        title = f"**{scores.scores.title(name)}**, `{PLANS[name].protocol}`, seeds: {number_range(counts)}"
        tables.append(f"{title}\n\n{markdown_table(['layers', *map(str, DEPTHS)], rows)}")
    return "\n".join(tables) if tables else not_computed(COMMAND)


def findings(scores: DepthScores) -> str:
    """What the study shows."""
    deepest, first = max(DEPTHS), min(DEPTHS)
    ready = [name for name in scores.datasets if all((name, kind, deepest) in scores.methods for kind in KINDS)]
    if not ready:
        return not_computed(COMMAND)
    best, above, cheap, priced = [], [], [], []
    for name in ready:
        means = {kind: value.mean for kind in KINDS if (value := scores.summary(name, kind, deepest)) is not None}
        best += [name] if max(means, key=lambda kind: means[kind]) == "kr" else []
        above += [name] if is_gain(scores.difference(name, deepest, "kr", "none")) else []
        cost = scores.difference(name, first, "none", "kr")
        if cost is not None:
            priced.append(name)
            cheap += [name] if 100 * cost.difference <= MAX_COST else []

    def counted(names: list[str], all_: list[str]) -> str:
        return f"{len(names)} of {len(all_)} datasets ({', '.join(map(scores.scores.title, names)) or 'none'})"

    seeds = {name: scores.seeds(name, deepest) for name in ready}
    missing = [
        f"{scores.scores.title(name)} {count} of {PLANS[name].seeds}"
        for name, count in seeds.items()
        if count < PLANS[name].seeds
    ]
    lines = [f"The study is not complete. Seeds at depth {deepest}: {', '.join(missing)}."] if missing else []
    lines += [
        f"At depth {deepest}, KR is the best of the four on {counted(best, ready)}.",
        f"At depth {deepest}, KR is above no regularisation by more than one standard error on "
        f"{counted(above, ready)}.",
        f"At depth {first}, KR costs at most {MAX_COST:g} point against no regularisation on {counted(cheap, priced)}.",
    ]
    reached, printed = _against_paper(scores)
    if printed:
        lines.append(f"Of the paper's KR numbers on Texas and Actor, {reached} of {printed} are reached.")
    return markdown_list(lines)


def _against_paper(scores: DepthScores) -> tuple[int, int]:
    reached = printed = 0
    for row in published.table("depth"):
        name = {"Texas": "texas", "Actor": "actor"}.get(row["dataset"])
        if name is None or row["method"] != "kr":
            continue
        ours = scores.summary(name, "kr", int(row["depth"]))
        if ours is not None:
            printed += 1
            reached += round(100 * ours.mean, 1) >= float(row["accuracy"])
    return reached, printed


def draw_depth(scores: DepthScores, folder: Path) -> Path | None:
    """The paper's figure: train and test accuracy over the depth, with bands; None if there is nothing to draw."""
    if not scores.methods:
        return None
    path = folder / "depth"
    columns = min(3, len(scores.datasets))
    tall = -(-len(scores.datasets) // columns)
    names = [f"{scores.scores.title(name)}, {PLANS[name].protocol}" for name in scores.datasets]
    with panels(path, "Accuracy over depth", names, columns, (3.7 * columns, 1.0 + 2.7 * tall)) as axes:
        for axis, name in zip(axes, scores.datasets, strict=True):
            for kind in KINDS:
                for part, line in (("train", ":"), ("test", "-")):
                    values = [(depth, scores.summary(name, kind, depth, part)) for depth in DEPTHS]
                    available = [(depth, value) for depth, value in values if value is not None]
                    at = [depth for depth, _ in available]
                    mean = np.array([100 * value.mean for _, value in available])
                    band = np.array([100 * (value.std or 0) for _, value in available])
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


def draw_layers(scores: DepthScores, folder: Path) -> Path | None:
    """Where the labels are lost at the greatest depth, without and with KR, where every layer was measured."""
    runs = []
    for name in scores.datasets:
        pair = []
        for kind in ("none", "kr"):
            method = scores.methods.get((name, kind, max(DEPTHS)))
            row = next((c for c in scores.results if (c["dataset"], c["method"], c["seed"]) == (name, method, 0)), None)
            if row is not None and "observed" in row:
                trace = row["observed"]
                last = [value for key, value in trace[-1].items() if key != "epoch"]
                pair.append(Diagnosis(f"{scores.scores.title(name)}: {NAMES[kind]}", [float("nan"), *last], trace))
        runs += pair if len(pair) == 2 else []
    return draw_diagnosis(runs, folder / "depth_layers", columns=2, last="last epoch") if runs else None


def render(results: Sequence[dict[str, Any]], folder: Path) -> dict[str, str]:
    """Findings, tables and two figures."""
    scores = DepthScores(results)
    return {
        "depth_facts": findings(scores),
        "depth_table": table_depth(scores),
        "depth_figure": figure_block(
            draw_depth(scores, folder),
            "Training and test accuracy over depth",
            "Bands: standard deviation of the test accuracy.",
            COMMAND,
        ),
        "depth_layers_figure": figure_block(
            draw_layers(scores, folder),
            "Fraction of the labels that each layer has lost, over training",
            "On validation nodes, by leave-one-out. Grey: epochs, from pale to dark.",
            COMMAND,
        ),
    }
