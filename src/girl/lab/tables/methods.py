"""GIRL beside other methods: accuracies with the published ones, ranks, costs, and accuracy against time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from girl.lab.markdown import figure_block, markdown_list, markdown_table, not_computed
from girl.lab.scores import MethodScores, bold_best, number_range
from girl.lab.tables import ranking
from girl.reporting.figure import COLORS, panels

#: Where the axis of seconds begins.
FIRST_SECOND = 1e-2

#: Markers of the figures, in the order of the methods.
MARKERS = "osD^vP*X<>hp"


def table_methods(scores: MethodScores) -> str:
    """Means of all methods, the best in bold; a mean over fewer seeds than others says so and takes no part."""
    rows = []
    columns = (*scores.baselines, *scores.methods)
    for dataset, protocol in scores.rows:
        summaries = [scores.summary(dataset, protocol, name) for name in columns]
        seeds = number_range([summary.count for summary in summaries if summary is not None])
        rows.append([f"{scores.title(dataset)}, `{protocol}`", seeds, *bold_best(summaries)])
    return markdown_table(["dataset, protocol", "seeds", *columns], rows) if rows else not_computed(scores.command)


def findings(scores: MethodScores) -> str:
    """Where GIRL is first, or within one standard error of the first."""
    rows = [row for row in scores.rows if scores.by_seed(*row, "girl")]
    if not rows:
        return not_computed(scores.command)
    first, near, behind = [], [], []
    for dataset, protocol in rows:
        values = {name: scores.by_seed(dataset, protocol, name) for name in scores.methods}
        means = {name: mean(by_seed.values()) for name, by_seed in values.items() if by_seed}
        best = max(means, key=means.__getitem__)
        title = f"{scores.title(dataset)} `{protocol}`"
        if best == "girl":
            first.append(title)
            continue
        difference = scores.difference(dataset, protocol, best, "girl")
        if difference is not None and difference.error is not None and difference.difference <= difference.error:
            near.append(title)
        else:
            behind.append(f"{title} ({best}{'' if difference is None else f', {difference}'})")
    lines = [f"GIRL is first on {len(first)} of {len(rows)} rows: {', '.join(first) or 'none'}."]
    if near:
        lines.append(f"Within one standard error of the first: {', '.join(near)}.")
    if behind:
        lines.append(f"Behind: {', '.join(behind)}.")
    ranks, count = ranking.mean_ranks(scores)
    if count > 1:
        order = sorted(ranks, key=ranks.__getitem__)
        lines.append(f"By mean rank it is number {order.index('girl') + 1} of {len(order)}.")
    if (girl := _seconds(scores, ["girl"])) and (others := _seconds(scores, scores.peers)):
        lines.append(f"Seconds of training, depending on the dataset: GIRL {girl}, the others {others}.")
    return markdown_list(lines)


def table_cost(scores: MethodScores) -> str:
    """Seconds per epoch, of training and until the best validation score, and gigabytes: means over seeds."""
    rows = []
    for dataset in dict.fromkeys(dataset for dataset, _ in scores.rows):
        for method in scores.methods:
            results = scores.trainings(dataset, method)
            if not results:
                continue
            memory = [result["train_gb"] for result in results if "train_gb" in result]
            best = [result["best_seconds"] for result in results if "best_seconds" in result]
            rows.append(
                [
                    scores.title(dataset),
                    method,
                    results[0].get("encoder", "its own"),
                    f"{mean(result['epochs'] for result in results):.0f}",
                    f"{mean(result['train_seconds'] / result['epochs'] for result in results):.3f}",
                    f"{mean(result['train_seconds'] for result in results):.1f}",
                    f"{mean(best):.1f}" if best else "–",
                    f"{max(memory):.2f}" if memory else "–",
                ]
            )
    head = ["dataset", "method", "encoder", "epochs", "s per epoch", "training, s", "to the best, s"]
    head.append("memory beyond the data, GB")
    return markdown_table(head, rows) if rows else not_computed(scores.command)


def draw_time(scores: MethodScores, folder: Path) -> Path | None:
    """Validation accuracy over seconds of training, a panel for each dataset; None if there is nothing to draw.

    A line is the accuracy during training, under the dataset's first protocol; the marker is that after training.
    """
    rows = list({dataset: (dataset, protocol) for dataset, protocol in reversed(scores.rows)}.values())[::-1]
    if not rows:
        return None
    path = folder / f"methods_{scores.name}"
    columns = min(4, len(rows))
    size = (2.9 * columns + 0.6, 2.5 * math.ceil(len(rows) / columns) + 0.8)
    names = [f"{scores.title(dataset)}, {protocol}" for dataset, protocol in rows]
    colors = [color for name, color in COLORS.items() if name not in ("ours", "theory")]
    with panels(path, "Validation accuracy over seconds of training on one core", names, columns, size) as axes:
        for axis, (dataset, protocol) in zip(axes, rows, strict=True):
            for index, method in enumerate(scores.methods):
                results = scores.trainings(dataset, method)
                ends = scores.by_seed(dataset, protocol, method, "val")
                if not results or not ends:
                    continue
                seconds, values = _mean_curve(results)
                axis.plot(
                    [*seconds, max(mean(result["train_seconds"] for result in results), FIRST_SECOND)],
                    [*values, 100 * mean(ends.values())],
                    marker=MARKERS[index % len(MARKERS)],
                    markevery=[len(seconds)],
                    markersize=8 if method == "girl" else 6,
                    color=COLORS["ours"] if method == "girl" else colors[index % len(colors)],
                    linewidth=1.6 if method == "girl" else 0.8,
                    zorder=3 if method == "girl" else 2,
                    label=method,
                )
            axis.set_xscale("log")
        handles: dict[str, Any] = {}
        for axis in axes:
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        axes[0].figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=6)
    return path.with_suffix(".png")


def _mean_curve(results: Sequence[dict[str, Any]]) -> tuple[list[float], list[float]]:
    """Seconds and percent at the epochs before the end that all results have, means over results."""
    curves = [{point["epoch"]: point for point in result.get("looks", [])[:-1]} for result in results]
    epochs = sorted(set.intersection(*(set(curve) for curve in curves)))
    seconds = [max(mean(curve[epoch]["seconds"] for curve in curves), FIRST_SECOND) for epoch in epochs]
    return seconds, [100 * mean(curve[epoch]["val"] for curve in curves) for epoch in epochs]


def _seconds(scores: MethodScores, names: Sequence[str]) -> str:
    """The shortest and the longest training of some methods, each the mean over seeds on a dataset; "" if none is."""
    datasets = {dataset for dataset, _ in scores.rows}
    results = [scores.trainings(dataset, name) for dataset in datasets for name in names]
    means = [mean(result["train_seconds"] for result in runs) for runs in results if runs]
    return f"{min(means):.0f} to {max(means):.0f}" if means else ""


def render(scores: MethodScores, folder: Path) -> dict[str, str]:
    """Tables, findings, ranks and figures of a comparison."""
    alt = f"Accuracy over time of training for each method, on {scores.name}"
    caption = "Up and to the left is better. Lines: during training; markers: after it. Means over seeds."
    return {
        f"methods_{scores.name}_table": table_methods(scores),
        f"methods_{scores.name}_facts": findings(scores),
        f"methods_{scores.name}_cost": table_cost(scores),
        f"methods_{scores.name}_figure": figure_block(draw_time(scores, folder), alt, caption, scores.command),
    } | ranking.render(scores, folder)
