"""The paper's figure of kinds of layer and depths, from ``girl reproduce ablation``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from girl.lab.ablation import CONVS, DATASETS, DEPTHS, name_of
from girl.lab.markdown import markdown, not_yet
from girl.lab.scores import Scores, emphasised, gains, seeds_in_words
from girl.lab.tables.nodes import LABELS, Labels, protocol_of
from girl.reporting.figure import COLORS, panels

TITLES = {"gcn": "GCN", "gatv2": "GATv2", "graphconv": "GraphConv", "sage": "SAGE"}
TINTS = {"gcn": COLORS["ours"], "gatv2": COLORS["paper"], "graphconv": COLORS["second"], "sage": COLORS["third"]}

NOT_YET = not_yet("girl reproduce ablation")


def datasets_of(scores: Scores, labels: Labels) -> list[tuple[str, str]]:
    """The datasets that have results, with the protocol."""
    wanted = [(name, protocol_of(name, labels)) for name in DATASETS]
    methods = [name_of(conv, depth, trained) for conv in CONVS for depth in DEPTHS for trained in (False, True)]
    return [(d, p) for d, p in wanted if p is not None and any(scores.by_seed(d, p, m) for m in methods)]


def draw_ablation(scores: Scores, labels: Labels, folder: Path) -> Path | None:
    """A panel for each dataset, accuracy over depth; None if there is nothing to draw."""
    rows = datasets_of(scores, labels)
    if not rows:
        return None
    path = folder / f"ablation_{labels}"
    columns = min(2, len(rows))
    tall = -(-len(rows) // columns)
    names = [f"{scores.title(dataset)}, {protocol}" for dataset, protocol in rows]
    with panels(path, "Kind of layer and depth", names, columns, (4.4 * columns, 0.9 + 2.7 * tall)) as axes:
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
            points = [(depth, scores.summary(dataset, protocol, name_of(conv, depth, trained))) for depth in DEPTHS]
            known = [(depth, value) for depth, value in points if value is not None]
            axes.errorbar(
                [depth + 0.04 * (at - 1.5) for depth, _ in known],  # side by side: bars do not hide each other
                [100 * value.mean for _, value in known],
                yerr=[100 * (value.std or 0) for _, value in known],
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
    """A table for each dataset: untrained, GIRL and their paired difference for every kind of layer and depth."""
    texts = []
    for dataset, protocol in datasets_of(scores, labels):
        rows: list[list[str]] = []
        counts: list[int] = []
        for conv in CONVS:
            pairs = [[name_of(conv, depth, trained) for trained in (False, True)] for depth in DEPTHS]
            found = [[scores.summary(dataset, protocol, name) for name in pair] for pair in pairs]
            counts += [value.count for pair in found for value in pair if value is not None]
            shown = [emphasised(pair) for pair in found]
            gaps = [scores.difference(dataset, protocol, trained, plain) for plain, trained in pairs]
            rows.append([f"{TITLES[conv]}, untrained", *(pair[0] for pair in shown)])
            rows.append([f"{TITLES[conv]}, GIRL", *(pair[1] for pair in shown)])
            rows.append(["difference", *("–" if gap is None else str(gap) for gap in gaps)])
        head = ["layers", *(str(depth) for depth in DEPTHS)]
        title = f"**{scores.title(dataset)}**, `{protocol}`, seeds: {seeds_in_words(counts)}"
        texts.append(f"{title}\n\n{markdown(head, rows)}")
    return "\n".join(texts) if texts else NOT_YET


def facts(scores: Scores) -> str:
    """In how many encoders GIRL gains and loses, as a Markdown list."""
    lines = []
    for labels, where in LABELS.items():
        counts = {scores.title(d): found for d, p in datasets_of(scores, labels) if (found := _counts(scores, d, p))[2]}
        if counts:
            up, down, all_ = (sum(column) for column in zip(*counts.values(), strict=True))
            each = ", ".join(f"{title} {a} and {b} of {c}" for title, (a, b, c) in counts.items())
            lines.append(
                f"- {where[0].upper()}{where[1:]}: by more than one standard error, GIRL is above its untrained "
                f"encoder in {up} of {all_} encoders and below it in {down} ({each})."
            )
    return "\n".join(lines) + "\n" if lines else NOT_YET


def _counts(scores: Scores, dataset: str, protocol: str) -> tuple[int, int, int]:
    """Encoders that gain, that lose, and all that have seeds enough to tell."""
    names = [[name_of(conv, depth, trained) for trained in (True, False)] for conv in CONVS for depth in DEPTHS]
    gaps = [(scores.difference(dataset, protocol, a, b), scores.difference(dataset, protocol, b, a)) for a, b in names]
    known = [(up, down) for up, down in gaps if up is not None and up.error is not None]
    return sum(gains(up) for up, _ in known), sum(gains(down) for _, down in known), len(known)


def pieces(cells: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Every text piece of the page by its name."""
    scores = Scores([cell for cell in cells if cell["dataset"] in DATASETS])
    return {
        "ablation_facts": facts(scores),
        "ablation_paper": table_ablation(scores, "paper"),
        "ablation_low": table_ablation(scores, "low"),
    }
