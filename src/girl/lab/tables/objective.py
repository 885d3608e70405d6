"""What each part of the objective is worth, from ``girl reproduce objective``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from girl.lab.markdown import markdown_table, not_computed
from girl.lab.objective import DATASETS, VARIANTS, Objective
from girl.lab.scores import Scores, number_range
from girl.lab.tables.nodes import LABELS, Labels, protocol_of


def table_objective(scores: Scores, labels: Labels) -> str:
    """The default's accuracy, and the paired difference of every change, in points ± standard error."""
    protocols = [(name, protocol_of(name, labels)) for name in DATASETS]
    columns = [(d, p) for d, p in protocols if p is not None and scores.by_seed(d, p, "default")]
    if not columns:
        return not_computed(Objective().command)
    rows = [["**default**", *(f"**{scores.summary(d, p, 'default')}**" for d, p in columns)]]
    for variant in list(VARIANTS)[1:]:
        differences = [scores.difference(d, p, variant, "default") for d, p in columns]
        rows.append([variant, *("–" if difference is None else str(difference) for difference in differences)])
    counts = [len(scores.by_seed(d, p, variant)) for d, p in columns for variant in VARIANTS]
    seeds = number_range([count for count in counts if count])
    return markdown_table([f"seeds: {seeds}", *(f"{scores.title(d)}, `{p}`" for d, p in columns)], rows)


def render(results: Sequence[dict[str, Any]]) -> dict[str, str]:
    """A table for each protocol."""
    return {f"objective_{labels}": table_objective(Scores(results), labels) for labels in LABELS}
