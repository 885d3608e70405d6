"""What KR adds to a training step, from ``benchmarks/regularizer.py``."""

from __future__ import annotations

from typing import Any

from girl.lab.markdown import markdown_list, markdown_table

MODELS = {"girl": "`girl train`'s SAGE", "torch_geometric": "torch_geometric's GraphSAGE"}


def table_regularizer(result: dict[str, Any]) -> str:
    """A row for each model and batch."""
    rows = []
    for row in result["rows"]:
        seconds, ratios = row["seconds"], row["ratios"]
        published = f"{ratios['published']:.1f} ×" if "published" in ratios else "–"
        rows.append(
            [
                MODELS[row["model"]],
                f"{row['nodes']:,}",
                f"{1000 * seconds['plain']:.0f} ms",
                f"{ratios['kr']:.2f} ×",
                f"{ratios['kr_all_layers']:.2f} ×",
                published,
            ]
        )
    return markdown_table(
        ["model", "training nodes", "plain step", "KR, last layer out", "KR, all layers", "published"], rows
    )


def findings(result: dict[str, Any]) -> str:
    """Whether the target is met."""
    rows = result["rows"]
    first = rows[0]
    worst = max(row["ratios"]["kr_all_layers"] for row in rows)
    met = sum(row["ratios"]["kr_all_layers"] <= result["target"] for row in rows)
    published = [row["ratios"]["published"] for row in rows if "published" in row["ratios"]]
    origin = result["provenance"]
    lines = [
        f"Depth {first['depth']}, hidden {first['hidden']}, {first['classes']} classes, all nodes of a batch are "
        f"training nodes; {result['threads']} threads, {origin['processor']}, commit {origin['commit']}.",
        f"With KR on all layers a step costs at most {worst:.2f} plain steps; the target of {result['target']:g} is "
        f"met in {met} of {len(rows)} cases.",
    ]
    if published:
        low, high = min(published), max(published)
        span = f"{low:.0f}" if round(low) == round(high) else f"{low:.0f} to {high:.0f}"
        lines.append(f"With the published estimator it costs {span} plain steps.")
    return markdown_list(lines)
