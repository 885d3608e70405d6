"""The table of ``benchmarks/methods.py``."""

from __future__ import annotations

from typing import Any

from girl.lab.markdown import markdown_list, markdown_table
from girl.lab.scores import title_of


def table_epochs(result: dict[str, Any]) -> str:
    """Seconds and memory of an epoch of each method, and both as multiples of GIRL's, fastest first."""
    rows = []
    for dataset in dict.fromkeys(row["dataset"] for row in result["rows"]):
        measured = {row["method"]: row for row in result["rows"] if row["dataset"] == dataset}
        ours = measured.get("girl")
        for name, row in sorted(measured.items(), key=lambda item: float(item[1]["seconds_per_epoch"])):
            times = "–" if ours is None else f"{row['seconds_per_epoch'] / ours['seconds_per_epoch']:.1f}×"
            sizes = "–" if ours is None else f"{row['beyond_data_bytes'] / ours['beyond_data_bytes']:.1f}×"
            seconds, memory = f"{row['seconds_per_epoch']:.3f}", f"{row['beyond_data_bytes'] / 1e6:,.0f}"
            encoder = f"{row['layers']} × {row['conv']}, {row['hidden']}"
            cells = [name, encoder, seconds, times, memory, sizes]
            rows.append([title_of(dataset, row["stand_in"]), *(f"**{c}**" if name == "girl" else c for c in cells)])
    head = ["dataset", "method", "encoder", "seconds per epoch", "of GIRL's", "memory beyond the data, MB", "of GIRL's"]
    return markdown_table(head, rows)


def findings(result: dict[str, Any]) -> str:
    """Whether GIRL's epoch is faster and smaller than that of every contrastive method."""
    threads = result["threads"]
    counts = sorted({len(row["rounds"]) for row in result["rows"]})
    rounds = " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))
    lines = [
        f"Machine: {result['provenance']['processor']}, {result['provenance']['cores']} cores, {threads} "
        f"thread{'s' if threads > 1 else ''}. Medians of {rounds} rounds, each in a fresh process."
    ]
    for dataset in dict.fromkeys(row["dataset"] for row in result["rows"]):
        measured = {row["method"]: row for row in result["rows"] if row["dataset"] == dataset}
        others = [name for name in result["contrastive"] if name in measured]
        if "girl" not in measured or not others:
            continue
        for key, word in (("seconds_per_epoch", "faster"), ("beyond_data_bytes", "smaller")):
            ours = measured["girl"][key]
            not_beaten = [name for name in others if measured[name][key] <= ours]
            closest = min(others, key=lambda name: float(measured[name][key]))
            ratio = measured[closest][key] / ours
            verdict = (
                f"not {word} than {', '.join(not_beaten)}" if not_beaten else f"{word} than every contrastive method"
            )
            title = title_of(dataset, measured["girl"]["stand_in"])
            lines.append(f"{title}: {verdict}; the closest is {closest}, {ratio:.1f}× GIRL's.")
    return markdown_list(lines)
