"""The node tables, the gains over the untrained encoder, and the findings, from ``girl reproduce nodes``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any, Literal

from matplotlib.axes import Axes

from girl.evaluation.metrics import Comparison, Summary
from girl.lab.markdown import figure_block, markdown_list, markdown_table, not_computed
from girl.lab.nodes import METHODS, PROTOCOLS, Nodes
from girl.lab.published import DATASETS, table
from girl.lab.scores import Scores, bold_best, is_complete, is_gain, number_range
from girl.reporting.figure import COLORS, panels

#: The paper's protocol as its numbers suggest it, and the field's low-label one.
Labels = Literal["paper", "low"]
LABELS: dict[Labels, str] = {"paper": "the paper's protocol", "low": "the low-label protocol"}

#: Smoothed features that need no training, the last as the recipe itself smooths them. The one with the best validation
#: score is shown.
SMOOTHED = ("sgc", "hops", "ppr", "own")

#: Columns beside the raw and the smoothed features.
COLUMNS = {"untrained": "untrained", "released-1024": "released loss, 1,024 rows", "encoder": "encoder", "girl": "GIRL"}

COMMAND = Nodes().command


def protocol_of(dataset: str, labels: Labels) -> str | None:
    """The name of a dataset's protocol; None if it has no low-label one."""
    names = PROTOCOLS[dataset]
    if labels == "paper":
        return names[-1]
    return names[0] if len(names) > 1 else None


def best_smoothed(scores: Scores, dataset: str, protocol: str) -> str | None:
    """The smoothed features with the best mean validation score."""
    summaries = {name: scores.summary(dataset, protocol, name, "val") for name in SMOOTHED}
    means = {name: summary.mean for name, summary in summaries.items() if summary is not None}
    return max(means, key=means.__getitem__) if means else None


def target(dataset: str, labels: Labels) -> tuple[float, str] | None:
    """The number to reach, in percent, and as printed: the paper's GIRL, or the highest low-label result found."""
    if labels == "low":
        highest = {row["dataset"]: row["accuracy"] for row in table("highest")}
        return (float(highest[dataset]), highest[dataset]) if dataset in highest else None
    for row in table("self_supervised"):
        if (row["method"], row["dataset"]) == ("GIRL", DATASETS.get(dataset)):
            return float(row["accuracy"]), row["accuracy"] + (f" ± {row['std']}" if row["std"] else "")
    return None


def is_reached(summary: Summary | None, aim: tuple[float, str] | None, labels: Labels) -> bool | None:
    """Whether the mean reaches the paper's number, or exceeds the highest found; None if there is none to compare."""
    if summary is None or aim is None:
        return None
    ours = round(100 * summary.mean, 6)  # 88.3 must equal 88.3, whatever the order of its sum
    return ours >= aim[0] if labels == "paper" else ours > aim[0]


def computed_datasets(scores: Scores, labels: Labels) -> list[tuple[str, str]]:
    """The datasets that have results, with the protocol."""
    protocols = [(name, protocol_of(name, labels)) for name in PROTOCOLS]
    methods = ("raw", *SMOOTHED, *COLUMNS)
    return [(d, p) for d, p in protocols if p is not None and any(scores.by_seed(d, p, m) for m in methods)]


def table_scores(scores: Scores, labels: Labels) -> str:
    """Accuracies, the paired gain over the untrained encoder, and the number to reach."""
    goal = ("published", "reached") if labels == "paper" else ("highest seen", "passed")
    head = ["dataset, protocol", "seeds", "raw", "best smoothed", *COLUMNS.values(), "GIRL − untrained", *goal]
    rows = []
    for dataset, protocol in computed_datasets(scores, labels):
        smoothed = best_smoothed(scores, dataset, protocol)
        methods = ["raw", smoothed or SMOOTHED[0], *COLUMNS]
        summaries = [scores.summary(dataset, protocol, method) for method in methods]
        cells = bold_best(summaries)
        if smoothed:
            cells[1] += f" ({smoothed})"
        girl, aim = summaries[-1], target(dataset, labels)
        rows.append(
            [
                f"{scores.title(dataset)}, `{protocol}`",
                number_range([summary.count for summary in summaries if summary is not None]),
                *cells,
                _text(scores.difference(dataset, protocol, "girl", "untrained")),
                aim[1] if aim else "–",
                _verdict(girl if is_complete(girl, summaries) else None, aim, labels),
            ]
        )
    return markdown_table(head, rows) if rows else not_computed(COMMAND)


def table_differences(scores: Scores, labels: Labels) -> str:
    """Further paired differences, in points ± standard error, and the untrained encoder of the default recipe."""
    head = ["dataset, protocol", "encoder", "its untrained", "encoder − its untrained", "released loss − its untrained"]
    head += ["GIRL − best smoothed", "GIRL − released loss", "GIRL − default"]
    rows = []
    for dataset, protocol in computed_datasets(scores, labels):
        smoothed = best_smoothed(scores, dataset, protocol) or SMOOTHED[0]
        pairs = [("encoder", "encoder untrained"), ("released-1024", "released-1024 untrained")]
        pairs += [("girl", smoothed), ("girl", "released-1024"), ("girl", "encoder")]
        rows.append(
            [
                f"{scores.title(dataset)}, `{protocol}`",
                *(_text(scores.summary(dataset, protocol, name)) for name in ("encoder", "encoder untrained")),
                *(_text(scores.difference(dataset, protocol, a, b)) for a, b in pairs),
            ]
        )
    return markdown_table(head, rows) if rows else not_computed(COMMAND)


def table_cost(scores: Scores) -> str:
    """What training and probing took, means over seeds."""
    head = ["dataset", "method", "epochs", "seconds per epoch", "training, s", "one probe, s"]
    rows = []
    for dataset in PROTOCOLS:
        for method in ("released-1024", "encoder", "girl"):
            results = scores.trainings(dataset, method)
            if not results:
                continue
            probes = [row["probe_seconds"] for r in results for row in r["rows"] if row["probe"] == scores.probe]
            rows.append(
                [
                    scores.title(dataset),
                    COLUMNS[method],
                    f"{mean(result['epochs'] for result in results):.0f}",
                    f"{mean(result['train_seconds'] / result['epochs'] for result in results):.3f}",
                    f"{mean(result['train_seconds'] for result in results):.1f}",
                    f"{mean(probes):.2f}" if probes else "–",
                ]
            )
    return markdown_table(head, rows) if rows else not_computed(COMMAND)


def findings(scores: Scores) -> str:
    """What the tables show; datasets without success are named."""
    lines = [line for labels in LABELS for line in _findings(scores, labels)]
    return markdown_list(lines) if lines else not_computed(COMMAND)


def _findings(scores: Scores, labels: Labels) -> list[str]:
    rows, protocol = computed_datasets(scores, labels), LABELS[labels]
    lines = []
    pairs = (("girl", "GIRL", "untrained"), ("encoder", "the recipe encoder", "encoder untrained"))
    for method, name, baseline in (
        *pairs,
        ("released-1024", "the released loss on 1,024 rows", "released-1024 untrained"),
    ):
        text = f"{protocol}: {name} beats its untrained encoder by more than one standard error"
        lines += _finding(scores, text, _gains(scores, dict.fromkeys(rows, (method, baseline))))
    goal = "reaches the paper's number" if labels == "paper" else "passes the highest result seen"
    for method, name in (("girl", "GIRL"), ("encoder", "the recipe encoder")):
        reached = {d: is_reached(_complete_summary(scores, d, p, method), target(d, labels), labels) for d, p in rows}
        judged = {dataset: value for dataset, value in reached.items() if value is not None}
        lines += _finding(scores, f"{protocol}: {name} {goal}", judged)
    text = f"{protocol}: GIRL beats the best smoothed features by more than one standard error"
    smoothed = {row: ("girl", best_smoothed(scores, *row) or SMOOTHED[0]) for row in rows}
    return lines + _finding(scores, text, _gains(scores, smoothed))


def _gains(scores: Scores, pairs: dict[tuple[str, str], tuple[str, str]]) -> dict[str, bool]:
    """For each dataset whether the first method of its pair gains over the second; one seed alone cannot show it."""
    differences = {row[0]: scores.difference(*row, *pair) for row, pair in pairs.items()}
    return {name: is_gain(one) for name, one in differences.items() if one is not None and one.error is not None}


def _finding(scores: Scores, text: str, judged: dict[str, bool]) -> list[str]:
    if not judged:
        return []
    failed = [scores.title(dataset) for dataset, success in judged.items() if not success]
    but = f"; not on {', '.join(failed)}" if failed else ""
    return [f"{text[0].upper()}{text[1:]} in {sum(judged.values())} of {len(judged)} rows{but}."]


def settings(scores: Scores) -> str:
    """How the numbers were computed, in a sentence or two."""
    rows = [row for result in scores.results for row in result["rows"] if row["probe"] == scores.probe]
    if not rows:
        return not_computed(COMMAND)
    counts = [len(scores.by_seed(d, p, m)) for d in PROTOCOLS for p in PROTOCOLS[d] for m in ("raw", *COLUMNS)]
    metrics = " and ".join(sorted({row["metric"] for row in rows}))
    versions = sorted({f"girl {result['provenance']['girl']}" for result in scores.results})
    processors = sorted({result["provenance"]["processor"] for result in scores.results})
    return (
        f"Test {metrics} in percent, mean ± standard deviation; {scores.probe} probe; "
        f"seeds: {number_range([count for count in counts if count])}. "
        f"Computed by {', '.join(versions)} on one core of {', '.join(processors)}.\n"
    )


def draw_gains(scores: Scores, folder: Path) -> Path | None:
    """Gain over the untrained encoder for each dataset, tuned and default; None if there is nothing to draw."""
    parts = [(title, rows) for labels, title in LABELS.items() if (rows := _drawable(scores, labels))]
    if not parts:
        return None
    path = folder / "nodes_gains"
    most = max(len(rows) for _, rows in parts)
    title = "Gain over the same encoder, untrained"
    size = (9.0 if len(parts) > 1 else 5.4, 1.5 + 0.34 * most)
    with panels(path, title, [name for name, _ in parts], size=size) as axes:
        for one, (_, rows) in zip(axes, parts, strict=True):
            _draw_gains(one, scores, rows, most)
            one.set_xlabel("points of accuracy, ± standard error")
        handles, labels_of = axes[0].get_legend_handles_labels()
        axes[0].figure.legend(handles, labels_of, loc="outside upper right", ncols=2)
    return path.with_suffix(".png")


def _drawable(scores: Scores, labels: Labels) -> list[tuple[str, str]]:
    pairs = (("girl", "untrained"), ("encoder", "encoder untrained"))
    return [
        (d, p) for d, p in computed_datasets(scores, labels) if any(scores.difference(d, p, a, b) for a, b in pairs)
    ]


def _draw_gains(axes: Axes, scores: Scores, rows: Sequence[tuple[str, str]], room: int) -> None:
    styles = [
        ("girl", "untrained", "GIRL, tuned", COLORS["ours"], "o", -0.15),
        ("encoder", "encoder untrained", "GIRL, recipe encoder", COLORS["fourth"], "s", 0.15),
    ]
    for method, baseline, label, color, marker, shift in styles:
        differences = [(at, scores.difference(d, p, method, baseline)) for at, (d, p) in enumerate(rows)]
        available = [(at, value) for at, value in differences if value is not None]
        if not available:
            continue
        axes.errorbar(
            [100 * value.difference for _, value in available],
            [at + shift for at, _ in available],
            xerr=[100 * (value.error or 0) for _, value in available],
            color=color,
            marker=marker,
            markersize=5,
            linestyle="none",
            elinewidth=1.4,
            capsize=2.5,
            label=label,
        )
    axes.axvline(0, color=COLORS["theory"], linewidth=1)
    axes.set_yticks(range(len(rows)), [scores.title(d) for d, _ in rows])
    axes.set_ylim(room - 0.5, -0.5)  # the same in all panels: rows of a dataset stand side by side
    axes.grid(visible=False, axis="y")


def _text(value: Summary | Comparison | None) -> str:
    return "–" if value is None else str(value)


def _verdict(summary: Summary | None, aim: tuple[float, str] | None, labels: Labels) -> str:
    reached = is_reached(summary, aim, labels)
    if reached is None or summary is None or aim is None:
        return "–"
    return f"{'yes' if reached else 'no'}, {100 * summary.mean - aim[0]:+.2f}"


def _complete_summary(scores: Scores, dataset: str, protocol: str, method: str) -> Summary | None:
    """A summary, if it is over as many seeds as the raw features' and the others'."""
    summary = scores.summary(dataset, protocol, method)
    others = [scores.summary(dataset, protocol, other) for other in ("raw", *SMOOTHED, *COLUMNS)]
    return summary if is_complete(summary, others) else None


def render(results: Sequence[dict[str, Any]], folder: Path) -> dict[str, str]:
    """Findings, tables and a figure. Results of other methods are left out."""
    scores = Scores([result for result in results if result["method"] in METHODS])
    alt = "Gain of GIRL over its untrained encoder on each dataset"
    caption = "What training adds to the same encoder, paired by seed. Left of the line training makes it worse."
    return {
        "nodes_settings": settings(scores),
        "nodes_paper": table_scores(scores, "paper"),
        "nodes_low": table_scores(scores, "low"),
        "nodes_paper_differences": table_differences(scores, "paper"),
        "nodes_low_differences": table_differences(scores, "low"),
        "nodes_cost": table_cost(scores),
        "nodes_facts": findings(scores),
        "nodes_figure": figure_block(draw_gains(scores, folder), alt, caption, COMMAND),
    }
