"""What each part of the objective is worth, from ``girl reproduce objective``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from girl.lab.markdown import markdown, not_yet
from girl.lab.objective import DATASETS, VARIANTS
from girl.lab.scores import Scores, seeds_in_words
from girl.lab.tables.nodes import Labels, protocol_of

NOT_YET = not_yet("girl reproduce objective")


def table_objective(scores: Scores, labels: Labels) -> str:
    """The default's accuracy, and the paired difference of every change, in points ± standard error."""
    wanted = [(name, protocol_of(name, labels)) for name in DATASETS]
    known = [(d, p) for d, p in wanted if p is not None and scores.by_seed(d, p, "default")]
    if not known:
        return NOT_YET
    rows = [["**default**", *(f"**{scores.summary(d, p, 'default')}**" for d, p in known)]]
    for variant in list(VARIANTS)[1:]:
        gaps = [scores.difference(d, p, variant, "default") for d, p in known]
        rows.append([variant, *("–" if gap is None else str(gap) for gap in gaps)])
    counts = [len(scores.by_seed(d, p, variant)) for d, p in known for variant in VARIANTS]
    head = [f"seeds: {seeds_in_words([c for c in counts if c])}", *(f"{scores.title(d)}, `{p}`" for d, p in known)]
    return markdown(head, rows)


def pieces(cells: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Every text piece of the page by its name."""
    scores = Scores(cells)
    return {
        "objective_paper": table_objective(scores, "paper"),
        "objective_low": table_objective(scores, "low"),
    }
