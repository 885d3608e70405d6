"""Every method beside the number that its own paper reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from girl.lab.checks import Published
from girl.lab.markdown import markdown, not_yet
from girl.lab.scores import Scores

#: Points between our mean and the published one, up to which a method counts as the published one.
CLOSE = 1.5

COMMAND = "girl reproduce checks"


def table_checks(cells: Sequence[dict[str, Any]], known: Sequence[Published]) -> str:
    """Ours and the published mean, and whether they are close, as Markdown."""
    scores = {"linear": Scores(cells), "svm": Scores(cells, "svm")}
    rows = []
    for one in known:
        probe = "svm" if one.protocol == "10-fold" else "linear"
        found = scores[probe].summary(one.dataset, one.protocol, one.method)
        if found is None:
            continue
        away = 100 * found.mean - one.accuracy
        spread = "" if one.std is None else f" ± {one.std:g}"
        rows.append(
            [
                one.method,
                f"{scores[probe].title(one.dataset)}, `{one.protocol}`",
                f"{100 * found.mean:.1f}" + ("" if found.std is None else f" ± {100 * found.std:.1f}"),
                str(found.count),
                f"{one.accuracy:g}{spread}",
                f"{away:+.1f}",
                "yes" if abs(away) <= CLOSE else "above" if away > 0 else "**no**",
                one.source,
            ]
        )
    head = ["method", "dataset, protocol", "ours", "seeds", "published", "difference", f"within {CLOSE}", "source"]
    return markdown(head, rows) if rows else not_yet(COMMAND)
