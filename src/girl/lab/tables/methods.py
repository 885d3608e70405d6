"""GIRL beside other methods: accuracies with the published ones, ranks, costs, and accuracy against time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from girl.lab.markdown import markdown, not_yet
from girl.lab.scores import Scores, emphasised, seeds_in_words
from girl.lab.tables.comparison import Arena, shown
from girl.lab.tables.ranking import ranks, table_ranks
from girl.reporting.figure import COLORS, panels

#: The paper's names of methods.
METHODS_IN_PAPER = {
    "girl": "GIRL",
    "dgi": "DGI",
    "grace": "GRACE",
    "bgrl": "BGRL",
    "bgcl": "BGCL",
    "graphmae": "GraphMAE",
    "selene": "SELENE",
    "infograph": "InfoGraph",
    "graphcl": "GraphCL",
    "joao": "JOAO",
    "joaov2": "JOAOv2",
    "simgrace": "SimGRACE",
}

#: Where the axis of seconds begins.
FIRST = 1e-2

#: Markers of the figures, in the order of the methods.
MARKERS = "osD^vP*X<>hp"


def table_methods(scores: Scores, arena: Arena) -> str:
    """Means of all methods, the best in bold; a mean over fewer seeds than others says so and is not judged."""
    rows = []
    columns = (*arena.controls, *arena.methods)
    for dataset, protocol in shown(scores, arena):
        found = [scores.summary(dataset, protocol, name) for name in columns]
        known = [value for value in found if value is not None]
        seeds = seeds_in_words([value.count for value in known])
        rows.append([f"{scores.title(dataset)}, `{protocol}`", seeds, *emphasised(found)])
    head = ["dataset, protocol", "seeds", *columns]
    return markdown(head, rows) if rows else not_yet(arena.command)


def facts(scores: Scores, arena: Arena) -> str:
    """Where GIRL is first, or within one standard error of the first, as a Markdown list."""
    places = [(d, p) for d, p in shown(scores, arena) if scores.by_seed(d, p, "girl")]
    if not places:
        return not_yet(arena.command)
    first, near, behind = [], [], []
    for dataset, protocol in places:
        known = {m: scores.by_seed(dataset, protocol, m) for m in arena.methods}
        means = {m: mean(values.values()) for m, values in known.items() if values}
        best = max(means, key=means.__getitem__)
        title = f"{scores.title(dataset)} `{protocol}`"
        if best == "girl":
            first.append(title)
            continue
        gap = scores.difference(dataset, protocol, best, "girl")
        if gap is not None and gap.error is not None and gap.difference <= gap.error:
            near.append(title)
        else:
            behind.append(f"{title} ({best}{'' if gap is None else f', {gap}'})")
    lines = [f"- GIRL is first on {len(first)} of {len(places)} rows: {', '.join(first) or 'none'}."]
    if near:
        lines.append(f"- Within one standard error of the first: {', '.join(near)}.")
    if behind:
        lines.append(f"- Behind: {', '.join(behind)}.")
    found, count = ranks(scores, arena)
    if count > 1:
        order = sorted(found, key=found.__getitem__)
        lines.append(f"- By mean rank it is number {order.index('girl') + 1} of {len(order)}.")
    peers = [name for name in arena.methods if name != "girl"]
    if (own := _seconds(scores, arena, ["girl"])) and (others := _seconds(scores, arena, peers)):
        lines.append(f"- Seconds of training, from dataset to dataset: GIRL {own}, the others {others}.")
    return "\n".join(lines) + "\n"


def table_cost(scores: Scores, arena: Arena) -> str:
    """Seconds per epoch, of training and until the best look on validation, and gigabytes: means over seeds."""
    rows = []
    for dataset in dict.fromkeys(d for d, _ in shown(scores, arena)):
        for method in arena.methods:
            cells = _trained(scores, dataset, method)
            if not cells:
                continue
            memory = [c["train_gb"] for c in cells if "train_gb" in c]
            best = [c["best_seconds"] for c in cells if "best_seconds" in c]
            rows.append(
                [
                    scores.title(dataset),
                    method,
                    cells[0].get("encoder", "its own"),
                    f"{mean(c['epochs'] for c in cells):.0f}",
                    f"{mean(c['train_seconds'] / c['epochs'] for c in cells):.3f}",
                    f"{mean(c['train_seconds'] for c in cells):.1f}",
                    f"{mean(best):.1f}" if best else "–",
                    f"{max(memory):.2f}" if memory else "–",
                ]
            )
    costs = ["epochs", "s per epoch", "training, s", "to the best, s", "memory beyond the data, GB"]
    return markdown(["dataset", "method", "encoder", *costs], rows) if rows else not_yet(arena.command)


def draw_time(scores: Scores, arena: Arena, folder: Path) -> Path | None:
    """Validation accuracy over seconds of training, a panel for each dataset; None if there is nothing to draw.

    A line is what a method had reached on its way, under the dataset's first protocol; the marker is its end.
    """
    places = list({dataset: (dataset, protocol) for dataset, protocol in reversed(shown(scores, arena))}.values())[::-1]
    if not places:
        return None
    path = folder / f"methods_{arena.name}"
    columns = min(4, len(places))
    size = (2.9 * columns + 0.6, 2.5 * math.ceil(len(places) / columns) + 0.8)
    names = [f"{scores.title(d)}, {p}" for d, p in places]
    colors = [color for name, color in COLORS.items() if name not in ("ours", "theory")]
    with panels(path, "Validation accuracy over seconds of training on one core", names, columns, size) as axes:
        for one, (dataset, protocol) in zip(axes, places, strict=False):
            for index, method in enumerate(arena.methods):
                cells = _trained(scores, dataset, method)
                ends = scores.by_seed(dataset, protocol, method, "val")
                if not cells or not ends:
                    continue
                seconds, values = _way(cells)
                one.plot(
                    [*seconds, max(mean(c["train_seconds"] for c in cells), FIRST)],
                    [*values, 100 * mean(ends.values())],
                    marker=MARKERS[index % len(MARKERS)],
                    markevery=[len(seconds)],
                    markersize=8 if method == "girl" else 6,
                    color=COLORS["ours"] if method == "girl" else colors[index % len(colors)],
                    linewidth=1.6 if method == "girl" else 0.8,
                    zorder=3 if method == "girl" else 2,
                    label=method,
                )
            one.set_xscale("log")
        handles: dict[str, Any] = {}
        for one in axes:
            for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        axes[0].figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=6)
    return path.with_suffix(".png")


def _way(cells: Sequence[dict[str, Any]]) -> tuple[list[float], list[float]]:
    """Seconds and percent of the looks before the end that all cells have, means over cells."""
    looks = [{look["epoch"]: look for look in cell.get("looks", [])[:-1]} for cell in cells]
    shared = sorted(set.intersection(*(set(one) for one in looks)))
    seconds = [max(mean(one[epoch]["seconds"] for one in looks), FIRST) for epoch in shared]
    return seconds, [100 * mean(one[epoch]["val"] for one in looks) for epoch in shared]


def pieces(scores: Scores, arena: Arena) -> dict[str, str]:
    """The tables of a comparison, by the names that pages include them by."""
    return {
        f"methods_{arena.name}_table": table_methods(scores, arena),
        f"methods_{arena.name}_ranks": table_ranks(scores, arena),
        f"methods_{arena.name}_facts": facts(scores, arena),
        f"methods_{arena.name}_cost": table_cost(scores, arena),
    }


def _seconds(scores: Scores, arena: Arena, names: Sequence[str]) -> str:
    """The shortest and the longest training of some methods, each the mean over seeds on a dataset; "" if none is."""
    datasets = {dataset for dataset, _ in shown(scores, arena)}
    cells = [_trained(scores, dataset, name) for dataset in datasets for name in names]
    means = [mean(cell["train_seconds"] for cell in found) for found in cells if found]
    return f"{min(means):.0f} to {max(means):.0f}" if means else ""


def _trained(scores: Scores, dataset: str, method: str) -> list[dict[str, Any]]:
    return [c for c in scores.cells if (c["dataset"], c["method"]) == (dataset, method) and c.get("epochs")]
