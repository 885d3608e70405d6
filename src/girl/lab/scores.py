"""The scores of experiments made of cells, by dataset, protocol, method and seed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from girl.evaluation.metrics import Comparison, Summary, compare, summarize

#: Names of datasets for readers.
TITLES = {
    "cora": "Cora",
    "citeseer": "CiteSeer",
    "pubmed": "PubMed",
    "dblp": "DBLP",
    "photo": "Photo",
    "computers": "Computers",
    "cs": "CS",
    "physics": "Physics",
    "texas": "Texas",
    "actor": "Actor",
    "usa-airports": "USA-Airports",
    "usa-airports-structural": "USA-Airports, structural",
    "nci1": "NCI1",
    "proteins": "PROTEINS",
    "dd": "DD",
    "mutag": "MUTAG",
}


class Scores:
    """What cells gave, as shares of one.

    Args:
        cells: results as :class:`girl.lab.cells.Results` keeps them.
        probe: whose scores to read.
    """

    def __init__(self, cells: Sequence[dict[str, Any]], probe: str = "linear") -> None:
        self.cells, self.probe = cells, probe
        self._rows: defaultdict[tuple[str, str, str], dict[int, dict[str, Any]]] = defaultdict(dict)
        for cell in cells:
            for row in cell["rows"]:
                if row["probe"] == probe:
                    self._rows[cell["dataset"], row["protocol"], cell["method"]][cell["seed"]] = row
        self._stand_ins = {cell["dataset"] for cell in cells if cell.get("stand_in")}

    def by_seed(self, dataset: str, protocol: str, method: str, part: str = "test") -> dict[int, float]:
        """The score of each seed; none if nothing was computed."""
        rows = self._rows.get((dataset, protocol, method), {})
        return {seed: rows[seed][part] for seed in sorted(rows)}

    def summary(self, dataset: str, protocol: str, method: str, part: str = "test") -> Summary | None:
        """Mean and spread over the seeds that are there."""
        scores = self.by_seed(dataset, protocol, method, part)
        return summarize(list(scores.values())) if scores else None

    def difference(self, dataset: str, protocol: str, method: str, other: str) -> Comparison | None:
        """How much better ``method`` is than ``other``, pair by pair on the seeds that both have."""
        a, b = self.by_seed(dataset, protocol, method), self.by_seed(dataset, protocol, other)
        shared = sorted(a.keys() & b.keys())
        return compare([a[seed] for seed in shared], [b[seed] for seed in shared]) if shared else None

    def title(self, dataset: str) -> str:
        """The dataset's name for readers, which says if it is a stand-in."""
        return title_of(TITLES.get(dataset, dataset), dataset in self._stand_ins)


def title_of(name: str, stand_in: bool) -> str:
    """The name of a dataset, which says if it is a stand-in."""
    return f"{name} (stand-in)" if stand_in else name


def gains(found: Comparison | None) -> bool:
    """Whether a difference is positive by more than one standard error; one pair alone cannot tell."""
    return found is not None and found.error is not None and found.difference > found.error


def complete(found: Summary | None, others: Sequence[Summary | None]) -> bool:
    """Whether a mean is over as many seeds as the others of its row: means over other splits cannot be compared."""
    return found is not None and found.count == max(other.count for other in others if other is not None)


def emphasised(values: Sequence[Summary | None]) -> list[str]:
    """Cells of a table row, the largest mean in bold; one over fewer seeds than others says so and is not judged."""
    judged = [value.mean for value in values if value is not None and complete(value, values)]
    cells = []
    for value in values:
        if value is None:
            cells.append("–")
        elif not complete(value, values):
            cells.append(f"{value} ({value.count} seed{'s' if value.count > 1 else ''})")
        else:
            cells.append(f"**{value}**" if value.mean == max(judged) else str(value))
    return cells


def seeds_in_words(counts: Sequence[int]) -> str:
    """How many seeds: ``10``, or ``3 to 10`` while results are still arriving."""
    least, most = min(counts, default=0), max(counts, default=0)
    return str(most) if least == most else f"{least} to {most}"
