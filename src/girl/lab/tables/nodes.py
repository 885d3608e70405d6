"""The node tables, the gains over the untrained encoder, and what they come to, from ``girl reproduce nodes``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any, Literal

from matplotlib.axes import Axes

from girl.evaluation.metrics import Comparison, Summary
from girl.lab.markdown import markdown, not_yet
from girl.lab.nodes import HIGHEST, PROTOCOLS
from girl.lab.published import table
from girl.lab.scores import Scores, complete, emphasised, gains, seeds_in_words
from girl.reporting.figure import COLORS, panels

#: The paper's protocol as its numbers suggest it, and the field's low-label one.
Labels = Literal["paper", "low"]
LABELS: dict[Labels, str] = {"paper": "the paper's protocol", "low": "the low-label protocol"}

#: Smoothed features that need no training, the last as the recipe itself smooths them. Which of them stands in a table
#: is decided on validation.
PROPAGATED = ("sgc", "hops", "ppr", "own")

#: What is measured here, beside the smoothed features, in the order of the columns.
COLUMNS = {"untrained": "untrained", "paper": "paper's loss", "default": "default", "girl": "GIRL"}

#: Names of the paper for the datasets.
IN_PAPER = {
    "cora": "Cora",
    "citeseer": "CiteSeer",
    "pubmed": "PubMed",
    "dblp": "DBLP",
    "photo": "Amazon-Photos",
    "computers": "Amazon-Computers",
    "cs": "Coauthor-CS",
    "physics": "Coauthor-Physics",
    "texas": "Texas",
    "actor": "Actor",
    "usa-airports": "USA-Airports",
}

NOT_YET = not_yet("girl reproduce nodes")


def protocol_of(dataset: str, labels: Labels) -> str | None:
    """The name of a dataset's protocol; None if it has no low-label one."""
    names = PROTOCOLS[dataset]
    if labels == "paper":
        return names[-1]
    return names[0] if len(names) > 1 else None


def published() -> dict[str, tuple[float, str]]:
    """For each dataset the paper's GIRL, in percent: the number, and as it is printed."""
    rows = {row["dataset"]: row for row in table("self_supervised") if row["method"] == "GIRL"}
    found = {}
    for name, printed in IN_PAPER.items():
        row = rows[printed]
        found[name] = (float(row["accuracy"]), row["accuracy"] + (f" ± {row['std']}" if row["std"] else ""))
    return found


def best_propagated(scores: Scores, dataset: str, protocol: str) -> str | None:
    """The smoothed features with the best mean validation score."""
    found = {name: scores.summary(dataset, protocol, name, "val") for name in PROPAGATED}
    known = {name: value.mean for name, value in found.items() if value is not None}
    return max(known, key=known.__getitem__) if known else None


def aim(dataset: str, labels: Labels) -> tuple[float, str] | None:
    """What there is to reach, in percent: the paper's number, or the highest seen under the low-label protocol."""
    if labels == "paper":
        return published().get(dataset)
    return (HIGHEST[dataset], f"{HIGHEST[dataset]}") if dataset in HIGHEST else None


def reached(found: Summary | None, wanted: tuple[float, str] | None, labels: Labels) -> bool | None:
    """Whether the mean reaches the paper's number, or passes the highest seen; None if there is nothing to compare."""
    if found is None or wanted is None:
        return None
    ours = round(100 * found.mean, 6)  # 88.3 must equal 88.3, whatever the order of its sum
    return ours >= wanted[0] if labels == "paper" else ours > wanted[0]


def rows_of(scores: Scores, labels: Labels) -> list[tuple[str, str]]:
    """The datasets that have results, with the protocol."""
    wanted = [(name, protocol_of(name, labels)) for name in PROTOCOLS]
    methods = ("raw", *PROPAGATED, *COLUMNS)
    return [(d, p) for d, p in wanted if p is not None and any(scores.by_seed(d, p, m) for m in methods)]


def table_scores(scores: Scores, labels: Labels) -> str:
    """Accuracies of everything measured, the paired gain over the untrained encoder, and what was to be reached."""
    goal = ("published", "reached") if labels == "paper" else ("highest seen", "passed")
    head = ["dataset, protocol", "seeds", "raw", "best smoothed", *COLUMNS.values(), "GIRL − untrained", *goal]
    rows = []
    for dataset, protocol in rows_of(scores, labels):
        smoothed = best_propagated(scores, dataset, protocol)
        methods = ["raw", smoothed or PROPAGATED[0], *COLUMNS]
        found = [scores.summary(dataset, protocol, method) for method in methods]
        cells = emphasised(found)
        if smoothed:
            cells[1] += f" ({smoothed})"
        wanted = aim(dataset, labels)
        rows.append(
            [
                f"{scores.title(dataset)}, `{protocol}`",
                seeds_in_words([value.count for value in found if value is not None]),
                *cells,
                _shown(scores.difference(dataset, protocol, "girl", "untrained")),
                wanted[1] if wanted else "–",
                _verdict(found[-1] if complete(found[-1], found) else None, wanted, labels),
            ]
        )
    return markdown(head, rows) if rows else NOT_YET


def table_differences(scores: Scores, labels: Labels) -> str:
    """Further paired differences, in points ± standard error, and the control of the default recipe."""
    head = ["dataset, protocol", "default", "its untrained", "default − its untrained", "paper's loss − its untrained"]
    head += ["GIRL − best smoothed", "GIRL − paper's loss", "GIRL − default"]
    rows = []
    for dataset, protocol in rows_of(scores, labels):
        smoothed = best_propagated(scores, dataset, protocol) or PROPAGATED[0]
        others = [("default", "default untrained"), ("paper", "paper untrained")]
        others += [("girl", smoothed), ("girl", "paper"), ("girl", "default")]
        rows.append(
            [
                f"{scores.title(dataset)}, `{protocol}`",
                *(_shown(scores.summary(dataset, protocol, name)) for name in ("default", "default untrained")),
                *(_shown(scores.difference(dataset, protocol, a, b)) for a, b in others),
            ]
        )
    return markdown(head, rows) if rows else NOT_YET


def table_cost(scores: Scores) -> str:
    """What training and probing took, means over seeds."""
    head = ["dataset", "method", "epochs", "seconds per epoch", "training, s", "one probe, s"]
    rows = []
    for dataset in PROTOCOLS:
        for method in ("paper", "default", "girl"):
            cells = [c for c in scores.cells if (c["dataset"], c["method"]) == (dataset, method) and c.get("epochs")]
            if not cells:
                continue
            probes = [r["probe_seconds"] for c in cells for r in c["rows"] if r["probe"] == scores.probe]
            rows.append(
                [
                    scores.title(dataset),
                    COLUMNS[method],
                    f"{mean(c['epochs'] for c in cells):.0f}",
                    f"{mean(c['train_seconds'] / c['epochs'] for c in cells):.3f}",
                    f"{mean(c['train_seconds'] for c in cells):.1f}",
                    f"{mean(probes):.2f}" if probes else "–",
                ]
            )
    return markdown(head, rows) if rows else NOT_YET


def facts(scores: Scores) -> str:
    """What the tables come to, as a Markdown list; what did not succeed is named."""
    lines = [line for labels in LABELS for line in _facts(scores, labels)]
    return "\n".join(lines) + "\n" if lines else NOT_YET


def _facts(scores: Scores, labels: Labels) -> list[str]:
    rows, where = rows_of(scores, labels), LABELS[labels]
    lines = []
    pairs = (("girl", "GIRL", "untrained"), ("default", "the default", "default untrained"))
    for method, name, control in (*pairs, ("paper", "the paper's loss", "paper untrained")):
        gaps = {d: scores.difference(d, p, method, control) for d, p in rows}
        text = f"{where}: {name} beats its untrained encoder by more than one standard error"
        lines += _fact(scores, text, told(gaps))
    goal = "reaches the paper's number" if labels == "paper" else "passes the highest result seen"
    for method, name in (("girl", "GIRL"), ("default", "the default")):
        met = {d: reached(_whole(scores, d, p, method), aim(d, labels), labels) for d, p in rows}
        known = {d: value for d, value in met.items() if value is not None}
        lines += _fact(scores, f"{where}: {name} {goal}", known)
    best = {d: best_propagated(scores, d, p) or PROPAGATED[0] for d, p in rows}
    gaps = {d: scores.difference(d, p, "girl", best[d]) for d, p in rows}
    text = "GIRL beats the best smoothed features by more than one standard error"
    return lines + _fact(scores, f"{where}: {text}", told(gaps))


def told(gaps: dict[str, Comparison | None]) -> dict[str, bool]:
    """Whether each difference is a gain, where there are seeds enough to tell."""
    return {d: gains(found) for d, found in gaps.items() if found is not None and found.error is not None}


def settings(scores: Scores) -> str:
    """How the numbers were made, in a sentence or two."""
    rows = [row for cell in scores.cells for row in cell["rows"] if row["probe"] == scores.probe]
    if not rows:
        return NOT_YET
    counts = [len(scores.by_seed(d, p, m)) for d in PROTOCOLS for p in PROTOCOLS[d] for m in ("raw", *COLUMNS)]
    metrics = " and ".join(sorted({row["metric"] for row in rows}))
    made = sorted({f"girl {c['provenance']['girl']}" for c in scores.cells})
    cpus = sorted({c["provenance"]["processor"] for c in scores.cells})
    return (
        f"Test {metrics} in percent, mean ± standard deviation; {scores.probe} probe; "
        f"seeds: {seeds_in_words([count for count in counts if count])}. "
        f"Computed by {', '.join(made)} on one core of {', '.join(cpus)}.\n"
    )


def draw_gains(scores: Scores, folder: Path) -> Path | None:
    """Gain over the untrained encoder for each dataset, tuned and default; None if there is nothing to draw."""
    drawn = [(title, rows) for labels, title in LABELS.items() if (rows := _drawable(scores, labels))]
    if not drawn:
        return None
    path = folder / "nodes_gains"
    most = max(len(rows) for _, rows in drawn)
    title = "Gain over the same encoder, untrained"
    size = (9.0 if len(drawn) > 1 else 5.4, 1.5 + 0.34 * most)
    with panels(path, title, [name for name, _ in drawn], size=size) as axes:
        for one, (_, rows) in zip(axes, drawn, strict=True):
            _gains(one, scores, rows, most)
            one.set_xlabel("points of accuracy, ± standard error")
        handles, labels_of = axes[0].get_legend_handles_labels()
        axes[0].figure.legend(handles, labels_of, loc="outside upper right", ncols=2)
    return path.with_suffix(".png")


def _drawable(scores: Scores, labels: Labels) -> list[tuple[str, str]]:
    pairs = (("girl", "untrained"), ("default", "default untrained"))
    return [(d, p) for d, p in rows_of(scores, labels) if any(scores.difference(d, p, a, b) for a, b in pairs)]


def _gains(axes: Axes, scores: Scores, rows: Sequence[tuple[str, str]], room: int) -> None:
    styles = [
        ("girl", "untrained", "GIRL, tuned", COLORS["ours"], "o", -0.15),
        ("default", "default untrained", "GIRL, default", COLORS["fourth"], "s", 0.15),
    ]
    for method, control, label, color, marker, shift in styles:
        found = [(at, scores.difference(d, p, method, control)) for at, (d, p) in enumerate(rows)]
        known = [(at, value) for at, value in found if value is not None]
        if not known:
            continue
        axes.errorbar(
            [100 * value.difference for _, value in known],
            [at + shift for at, _ in known],
            xerr=[100 * (value.error or 0) for _, value in known],
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


def _shown(found: Summary | Comparison | None) -> str:
    return "–" if found is None else str(found)


def _verdict(found: Summary | None, wanted: tuple[float, str] | None, labels: Labels) -> str:
    met = reached(found, wanted, labels)
    if met is None or found is None or wanted is None:
        return "–"
    return f"{'yes' if met else 'no'}, {100 * found.mean - wanted[0]:+.2f}"


def _fact(scores: Scores, text: str, known: dict[str, bool]) -> list[str]:
    if not known:
        return []
    missed = [scores.title(d) for d, value in known.items() if not value]
    but = f"; not on {', '.join(missed)}" if missed else ""
    return [f"- {text[0].upper()}{text[1:]} in {sum(known.values())} of {len(known)} rows{but}."]


def _whole(scores: Scores, dataset: str, protocol: str, method: str) -> Summary | None:
    """A mean, if it is over as many seeds as the raw features' and the others'."""
    found = scores.summary(dataset, protocol, method)
    others = [scores.summary(dataset, protocol, other) for other in ("raw", *PROPAGATED, *COLUMNS)]
    return found if complete(found, others) else None


def pieces(cells: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Every text piece of the page by its name."""
    scores = Scores([cell for cell in cells if cell["dataset"] in PROTOCOLS])
    return {
        "nodes_settings": settings(scores),
        "nodes_paper": table_scores(scores, "paper"),
        "nodes_low": table_scores(scores, "low"),
        "nodes_paper_differences": table_differences(scores, "paper"),
        "nodes_low_differences": table_differences(scores, "low"),
        "nodes_cost": table_cost(scores),
        "nodes_facts": facts(scores),
    }
