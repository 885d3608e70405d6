"""Every method beside the number that its own paper reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from girl.lab.checks import PUBLISHED, Checks
from girl.lab.markdown import markdown_table, not_computed
from girl.lab.scores import Scores

#: Our implementation counts as the published method up to this many points between the means.
TOLERANCE = 1.5


def table_checks(results: Sequence[dict[str, Any]]) -> str:
    """Our mean and the published one, and whether they are close."""
    scores = {"linear": Scores(results), "svm": Scores(results, "svm")}
    rows = []
    for published in PUBLISHED:
        probe = "svm" if published.protocol == "10-fold" else "linear"
        ours = scores[probe].summary(published.dataset, published.protocol, published.method)
        if ours is None:
            continue
        difference = 100 * ours.mean - published.accuracy
        std = "" if published.std is None else f" ± {published.std:g}"
        rows.append(
            [
                published.method,
                f"{scores[probe].title(published.dataset)}, `{published.protocol}`",
                f"{100 * ours.mean:.1f}" + ("" if ours.std is None else f" ± {100 * ours.std:.1f}"),
                str(ours.count),
                f"{published.accuracy:g}{std}",
                f"{difference:+.1f}",
                "yes" if abs(difference) <= TOLERANCE else "above" if difference > 0 else "**no**",
                published.source,
            ]
        )
    head = ["method", "dataset, protocol", "ours", "seeds", "published", "difference", f"within {TOLERANCE}", "source"]
    return markdown_table(head, rows) if rows else not_computed(Checks().command)


def render(results: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The table of the page on methods."""
    return {"methods_checks": table_checks(results)}
