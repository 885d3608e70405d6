"""What METIS loses by seeing a sample of the edges, from ``benchmarks/partition.py``."""

from __future__ import annotations

from typing import Any

from girl.lab.scores import TITLES, title_of


def partition_loss(result: dict[str, Any]) -> str:
    """The edges within parts with and without the sample, in a sentence."""
    cases = ", ".join(
        f"{title_of(TITLES.get(row['dataset'], row['dataset']), row['stand_in'])} {100 * row['half']:.0f} instead of "
        f"{100 * row['all']:.0f} %"
        for row in result["rows"]
    )
    return (
        f"Edges that lie within parts, if METIS sees {100 * result['fraction']:.0f} % of the entries, for "
        f"{result['parts']} parts: {cases}.\n"
    )
