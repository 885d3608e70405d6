"""Measurements that were recorded by hand in ``results/recorded.json``: no command makes them again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from girl.lab.depth import DEPTHS, PLANS, Depth
from girl.lab.markdown import markdown_table, not_computed
from girl.lab.tables.depth import DepthScores


def table_authors_steps(recorded: dict[str, Any]) -> str:
    """Accuracies of the authors' own training steps, on datasets where ours are not close to the published ones."""
    rows = []
    for row in recorded["authors_steps"]:
        accuracy = f"{row['mean']} ± {row['std']}" if "mean" in row else f"{row['low']} to {row['high']}"
        rows.append([f"{row['method']}, {row['dataset']}", row["setting"], accuracy, str(row["seeds"] or "–")])
    return markdown_table(["method, dataset", "setting", "accuracy", "seeds"], rows)


def graphmae_on_cora(recorded: dict[str, Any]) -> str:
    """What GraphMAE lost by a layer and an optimiser other than the published ones."""
    cora = recorded["graphmae_cora"]
    return (
        f"GraphMAE on Cora reached {cora['accuracy']} while it had the attention of GATv2 and AdamW: decoupled weight "
        f"decay lets the decoder rebuild too well (loss {cora['loss_low']:.2f} to {cora['loss_high']:.2f} instead of "
        f"{cora['loss_published']:.2f}). Its authors' own steps lose {cora['points_lost']} points by it as well.\n"
    )


def texas_precision(recorded: dict[str, Any], scores: DepthScores) -> str:
    """How precise the means on Texas are, and whether the paper's width would help there."""
    errors = [
        100 * summary.std / summary.count**0.5
        for depth in DEPTHS
        for kind in ("none", "kr")
        if (summary := scores.summary("texas", kind, depth)) is not None and summary.std is not None
    ]
    plain = scores.summary("texas", "none", recorded["texas_width"]["depth"], "val")
    if not errors or plain is None or plain.std is None:
        return not_computed(Depth().command)
    width = recorded["texas_width"]
    return (
        f"The standard error of a mean over Texas' {PLANS['texas'].seeds} splits is {min(errors):.1f} to "
        f"{max(errors):.1f} points; smaller differences say little. The paper's width is not significantly better "
        f"there: {width['val']} ± {width['error']} for {width['depth']} plain layers of width {width['hidden']}, "
        f"{100 * plain.mean:.1f} ± {100 * plain.std / plain.count**0.5:.1f} for ours of width {PLANS['texas'].hidden} "
        "(validation accuracy ± standard error).\n"
    )


def render(results: Path) -> dict[str, str]:
    """A table and two paragraphs; nothing, if there is no such file."""
    path = results / "recorded.json"
    if not path.exists():
        missing = "*Not recorded in these results.*\n"
        return dict.fromkeys(("methods_authors_steps", "methods_graphmae_cora", "depth_texas"), missing)
    recorded = json.loads(path.read_text(encoding="utf-8"))
    return {
        "methods_authors_steps": table_authors_steps(recorded),
        "methods_graphmae_cora": graphmae_on_cora(recorded),
        "depth_texas": texas_precision(recorded, DepthScores(Depth().current(results))),
    }
