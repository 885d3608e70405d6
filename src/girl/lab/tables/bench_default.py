"""The table of ``benchmarks/default.py``."""

from __future__ import annotations

from typing import Any

from girl.lab.markdown import markdown_list, markdown_table
from girl.lab.scores import title_of

#: What the default is compared with, in words, and how many times as long it may take.
LIMITS = {
    "ppr": ("personalised PageRank with its components", 8.0),
    "sgc": ("two steps of smoothing with their components", 8.0),
    "chosen": ("the default with its scales given", 2.0),
}


def table_cost(result: dict[str, Any]) -> str:
    """Seconds of smoothing and of the default, and their ratios."""
    body = []
    for row in result["rows"]:
        seconds = [f"{row[name]:.2f}" for name in ("sgc", "ppr", "chosen", "default")]
        ratios = [f"{row['default'] / row[name]:.1f}×" for name in ("sgc", "ppr", "chosen")]
        size = f"{row['nodes']:,} × {row['columns']:,}"
        body.append([title_of(row["dataset"], row["stand_in"]), size, *seconds, *ratios])
    names = ["sgc", "ppr", "scales given"]
    return markdown_table(["", "nodes × columns", *names, "default", *(f"of {name}" for name in names)], body)


def findings(result: dict[str, Any]) -> str:
    """Where the default takes longer than it should."""
    threads, repeats = result["threads"], result["repeats"]
    machine = f"{result['provenance']['processor']}, {threads} thread{'s' if threads > 1 else ''}"
    lines = [f"Machine: {machine}. Seconds of wall time, the minimum of {repeats}. All have 256 columns."]
    for name, (words, most) in LIMITS.items():
        ratios = {title_of(row["dataset"], row["stand_in"]): row["default"] / row[name] for row in result["rows"]}
        above = [f"{title} {ratio:.1f}×" for title, ratio in ratios.items() if ratio > most]
        verdict = f"not on {', '.join(above)}" if above else "on every graph"
        lines.append(f"The default takes at most {most:.0f} times as long as {words}: {verdict}.")
    return markdown_list(lines)
