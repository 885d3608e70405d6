"""The scores of an experiment, by dataset, protocol, method and seed."""

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
    "minesweeper": "Minesweeper",
    "squirrel-filtered": "Squirrel, filtered",
    "chameleon-filtered": "Chameleon, filtered",
    "tolokers": "Tolokers",
    "cornell": "Cornell",
    "wisconsin": "Wisconsin",
    "amherst41": "Amherst41",
    "reed98": "Reed98",
    "johnshopkins55": "JohnsHopkins55",
    "brazil-airports": "Brazil-Airports",
    "europe-airports": "Europe-Airports",
    "digits": "digits",
    "nci1": "NCI1",
    "proteins": "PROTEINS",
    "dd": "DD",
    "mutag": "MUTAG",
}


class Scores:
    """The test and validation scores of cells, between 0 and 1.

    Args:
        results: as :class:`girl.lab.cells.Results` saves them.
        probe: the one whose scores are read.
    """

    def __init__(self, results: Sequence[dict[str, Any]], probe: str = "linear") -> None:
        self.results, self.probe = results, probe
        self._rows: defaultdict[tuple[str, str, str], dict[int, dict[str, Any]]] = defaultdict(dict)
        for result in results:
            for row in result["rows"]:
                if row["probe"] == probe:
                    self._rows[result["dataset"], row["protocol"], result["method"]][result["seed"]] = row
        self._stand_ins = {result["dataset"] for result in results if result.get("stand_in")}

    def by_seed(self, dataset: str, protocol: str, method: str, part: str = "test") -> dict[int, float]:
        """The score of each seed; empty if nothing was computed."""
        rows = self._rows.get((dataset, protocol, method), {})
        return {seed: rows[seed][part] for seed in sorted(rows)}

    def summary(self, dataset: str, protocol: str, method: str, part: str = "test") -> Summary | None:
        """Mean and standard deviation over the seeds."""
        scores = self.by_seed(dataset, protocol, method, part)
        return summarize(list(scores.values())) if scores else None

    def difference(self, dataset: str, protocol: str, method: str, other: str) -> Comparison | None:
        """How much better ``method`` is than ``other``, paired on the seeds that both have."""
        a, b = self.by_seed(dataset, protocol, method), self.by_seed(dataset, protocol, other)
        shared = sorted(a.keys() & b.keys())
        return compare([a[seed] for seed in shared], [b[seed] for seed in shared]) if shared else None

    def trainings(self, dataset: str, method: str) -> list[dict[str, Any]]:
        """The results of a method that was trained."""
        return [r for r in self.results if (r["dataset"], r["method"]) == (dataset, method) and r.get("epochs")]

    def title(self, dataset: str) -> str:
        """The dataset's name for readers, which says if it is a stand-in."""
        return title_of(TITLES.get(dataset, dataset), dataset in self._stand_ins)


class MethodScores(Scores):
    """The scores of a comparison of GIRL with other methods.

    Args:
        results: each method under its own name, whatever encoder was chosen for it.
        probe: the one whose scores are read.
        name: of the experiment: ``nodes`` or ``graphs``.
        compared: datasets with their protocols.
        baselines: columns that are not ranked.
        methods: columns that are; GIRL is among them.
    """

    def __init__(
        self,
        results: Sequence[dict[str, Any]],
        probe: str,
        *,
        name: str,
        compared: Sequence[tuple[str, str]],
        baselines: Sequence[str],
        methods: Sequence[str],
    ) -> None:
        super().__init__(results, probe)
        self.name, self.baselines, self.methods = name, baselines, methods
        self.peers = [method for method in methods if method != "girl"]
        self.command = f"girl reproduce {name} --methods all"
        self.rows = [row for row in compared if any(self.by_seed(*row, method) for method in self.peers)]
        """Datasets with their protocols, where other methods have results."""


def title_of(name: str, stand_in: bool) -> str:
    """The name of a dataset, which says if it is a stand-in."""
    return f"{name} (stand-in)" if stand_in else name


def is_gain(difference: Comparison | None) -> bool:
    """Whether a difference is positive by more than one standard error; one pair alone cannot show it."""
    return difference is not None and difference.error is not None and difference.difference > difference.error


def is_complete(summary: Summary | None, others: Sequence[Summary | None]) -> bool:
    """Whether a mean is over as many seeds as the others of its row: means over other splits cannot be compared."""
    return summary is not None and summary.count == max(other.count for other in others if other is not None)


def bold_best(summaries: Sequence[Summary | None]) -> list[str]:
    """Cells of a table row, the largest mean in bold; one over fewer seeds than others says so and takes no part."""
    means = [summary.mean for summary in summaries if summary is not None and is_complete(summary, summaries)]
    cells = []
    for summary in summaries:
        if summary is None:
            cells.append("–")
        elif not is_complete(summary, summaries):
            cells.append(f"{summary} ({summary.count} seed{'s' if summary.count > 1 else ''})")
        else:
            cells.append(f"**{summary}**" if summary.mean == max(means) else str(summary))
    return cells


def number_range(counts: Sequence[int]) -> str:
    """``10``, or ``3 to 10`` while results are still arriving."""
    least, most = min(counts, default=0), max(counts, default=0)
    return str(most) if least == most else f"{least} to {most}"
