"""The paper's figure of types of layer and depths, from ``girl reproduce ablation``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from girl.lab.ablation import CONVS, DEPTHS, Ablation, method_name
from girl.lab.markdown import figure_block, markdown_list, markdown_table, not_computed
from girl.lab.scores import Scores, bold_best, is_gain, number_range
from girl.lab.tables.nodes import LABELS, Labels, protocol_of
from girl.reporting.figure import COLORS, panels

TITLES = {"gcn": "GCN", "gatv2": "GATv2", "graphconv": "GraphConv", "sage": "SAGE"}
TINTS = {"gcn": COLORS["ours"], "gatv2": COLORS["paper"], "graphconv": COLORS["second"], "sage": COLORS["third"]}

DATASETS = Ablation().datasets
COMMAND = Ablation().command


def computed_datasets(scores: Scores, labels: Labels) -> list[tuple[str, str]]:
    """The datasets that have results, with the protocol."""
    protocols = [(name, protocol_of(name, labels)) for name in DATASETS]
    methods = [method_name(conv, depth, trained) for conv in CONVS for depth in DEPTHS for trained in (False, True)]
    return [(d, p) for d, p in protocols if p is not None and any(scores.by_seed(d, p, m) for m in methods)]


def draw_ablation(scores: Scores, labels: Labels, folder: Path) -> Path | None:
    """A panel for each dataset, accuracy over depth; None if there is nothing to draw."""
    rows = computed_datasets(scores, labels)
    if not rows:
        return None
    path = folder / f"ablation_{labels}"
    columns = min(2, len(rows))
    tall = -(-len(rows) // columns)
    names = [f"{scores.title(dataset)}, {protocol}" for dataset, protocol in rows]
    with panels(path, "Type of layer and depth", names, columns, (4.4 * columns, 0.9 + 2.7 * tall)) as axes:
        for one, (dataset, protocol) in zip(axes, rows, strict=True):
            _panel(one, scores, dataset, protocol)
        keys = [Line2D([], [], color=TINTS[conv], label=TITLES[conv]) for conv in CONVS]
        keys.append(Line2D([], [], color=COLORS["theory"], label="GIRL"))
        keys.append(Line2D([], [], color=COLORS["theory"], linestyle="--", label="untrained"))
        axes[0].figure.legend(handles=keys, loc="outside lower center", ncols=6 if columns > 1 else 3)
    return path.with_suffix(".png")


def _panel(axes: Axes, scores: Scores, dataset: str, protocol: str) -> None:
    for at, conv in enumerate(CONVS):
        for trained in (False, True):
            points = [(depth, scores.summary(dataset, protocol, method_name(conv, depth, trained))) for depth in DEPTHS]
            available = [(depth, value) for depth, value in points if value is not None]
            axes.errorbar(
                [depth + 0.04 * (at - 1.5) for depth, _ in available],  # side by side: bars do not hide each other
                [100 * value.mean for _, value in available],
                yerr=[100 * (value.std or 0) for _, value in available],
                color=TINTS[conv],
                linestyle="-" if trained else "--",
                linewidth=1.8 if trained else 1.2,
                marker="o" if trained else None,
                markersize=3.5,
                elinewidth=1,
                capsize=2,
                alpha=1.0 if trained else 0.75,
            )
    axes.set_xticks(DEPTHS)
    axes.set_xlabel("layers")
    axes.set_ylabel("accuracy, %")


def table_ablation(scores: Scores, labels: Labels) -> str:
    """A table for each dataset: untrained, GIRL and their paired difference for every type of layer and depth."""
    tables = []
    for dataset, protocol in computed_datasets(scores, labels):
        rows: list[list[str]] = []
        counts: list[int] = []
        for conv in CONVS:
            pairs = [[method_name(conv, depth, trained) for trained in (False, True)] for depth in DEPTHS]
            summaries = [[scores.summary(dataset, protocol, name) for name in pair] for pair in pairs]
            counts += [summary.count for pair in summaries for summary in pair if summary is not None]
            cells = [bold_best(pair) for pair in summaries]
            differences = [scores.difference(dataset, protocol, trained, plain) for plain, trained in pairs]
            rows.append([f"{TITLES[conv]}, untrained", *(pair[0] for pair in cells)])
            rows.append([f"{TITLES[conv]}, GIRL", *(pair[1] for pair in cells)])
            rows.append(["difference", *("–" if one is None else str(one) for one in differences)])
        head = ["layers", *(str(depth) for depth in DEPTHS)]
        title = f"**{scores.title(dataset)}**, `{protocol}`, seeds: {number_range(counts)}"
        tables.append(f"{title}\n\n{markdown_table(head, rows)}")
    return "\n".join(tables) if tables else not_computed(COMMAND)


def findings(scores: Scores) -> str:
    """In how many encoders GIRL gains and loses."""
    lines = []
    for labels, protocol in LABELS.items():
        rows = computed_datasets(scores, labels)
        counts = {scores.title(d): count for d, p in rows if (count := _count_gains(scores, d, p))[2]}
        if counts:
            up, down, all_ = (sum(column) for column in zip(*counts.values(), strict=True))
            each = ", ".join(f"{title} {a} and {b} of {c}" for title, (a, b, c) in counts.items())
            lines.append(
                f"{protocol[0].upper()}{protocol[1:]}: by more than one standard error, GIRL is above its untrained "
                f"encoder in {up} of {all_} encoders and below it in {down} ({each})."
            )
    if not lines and scores.results:
        return f"*One seed each: too few for a standard error. `{COMMAND}` computes more.*\n"
    return markdown_list(lines) if lines else not_computed(COMMAND)


def _count_gains(scores: Scores, dataset: str, protocol: str) -> tuple[int, int, int]:
    """Encoders that gain, that lose, and all that have more than one seed."""
    names = [[method_name(conv, depth, trained) for trained in (True, False)] for conv in CONVS for depth in DEPTHS]
    pairs = [(scores.difference(dataset, protocol, a, b), scores.difference(dataset, protocol, b, a)) for a, b in names]
    judged = [(up, down) for up, down in pairs if up is not None and up.error is not None]
    return sum(is_gain(up) for up, _ in judged), sum(is_gain(down) for _, down in judged), len(judged)


def render(results: Sequence[dict[str, Any]], folder: Path) -> dict[str, str]:
    """Findings, and a figure and tables for each protocol."""
    scores = Scores(results)
    caption = "Solid: GIRL. Dashed: the same encoder, untrained. Bars: standard deviation over seeds."
    rendered = {"ablation_facts": findings(scores)}
    for labels, protocol in LABELS.items():
        alt = f"Accuracy over depth for each type of layer, {protocol}"
        figure = draw_ablation(scores, labels, folder)
        rendered[f"ablation_{labels}"] = table_ablation(scores, labels)
        rendered[f"ablation_{labels}_figure"] = figure_block(figure, alt, caption, COMMAND)
    return rendered
