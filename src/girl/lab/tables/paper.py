"""The paper's four self-supervised tables, cell by cell: what was printed, and what we measure."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from girl.lab.graphs import DATASETS as GRAPH_SETS
from girl.lab.graphs import Graphs
from girl.lab.markdown import markdown_table
from girl.lab.nodes import PROTOCOLS, Nodes
from girl.lab.published import DATASETS, METHODS, table
from girl.lab.scores import Scores, number_range

#: The tables, in the paper's order.
TABLES = ("transductive", "inductive", "heterophilic", "graph")

#: Protocols, short enough for a cell.
SHORT = {"random-10-10-80": "10/10/80", "random-60-20-20": "60/20/20"}

#: The paper's datasets that are available offline: our name, and the protocols under which we measure.
AVAILABLE = {
    printed: (name, ("10-fold",) if name in GRAPH_SETS else PROTOCOLS[name]) for name, printed in DATASETS.items()
}


@cache
def printed_numbers() -> dict[tuple[str, str], tuple[str, str, str]]:
    """Table, accuracy and protocol ("" if unknown) of every number of the paper, by dataset and method."""
    protocols = {(row["dataset"], row["method"]): row["protocol"] for row in table("protocols")}
    numbers = {}
    for row in table("self_supervised"):
        key = row["dataset"], row["method"]
        protocol = "10-fold" if row["setting"] == "graph" else protocols.get(key, "")
        numbers[key] = row["setting"], row["accuracy"], protocol
    return numbers


def table_paper(scores: Scores, setting: str) -> str:
    """One of the four tables: ``printed (its protocol) / ours``, ours under every protocol of the row.

    Args:
        scores: ours, on nodes (linear probe) or on sets of graphs (support vector machine).
        setting: which table, of :data:`TABLES`.
    """
    printed = {key: value for key, value in printed_numbers().items() if value[0] == setting}
    columns = [name for name, paper in METHODS.items() if any(method == paper for _, method in printed)]
    rows = []
    for dataset in dict.fromkeys(dataset for dataset, _ in printed):
        name, protocols = AVAILABLE.get(dataset, (dataset, ()))
        row = [dataset, " · ".join(_short(protocol) for protocol in protocols) or "not available"]
        for method in columns:
            theirs = "–"
            if (dataset, METHODS[method]) in printed:
                _, accuracy, protocol = printed[dataset, METHODS[method]]
                theirs = f"{accuracy} ({_short(protocol)})" if protocol else accuracy
            means = [scores.summary(name, protocol, method) for protocol in protocols]
            ours = " · ".join("–" if one is None else f"{100 * one.mean:.1f}" for one in means)
            row.append(f"{theirs} / {ours or '–'}")
        rows.append(row)
    return markdown_table(["dataset", "ours under", *(METHODS[name] for name in columns)], rows)


def coverage(nodes: Scores, graphs: Scores) -> str:
    """How many of the paper's numbers on available datasets have one of ours beside them."""
    names = {paper: name for name, paper in METHODS.items()}
    count, missing, seeds = 0, [], []
    for (dataset, method), (setting, _, _) in printed_numbers().items():
        if dataset not in AVAILABLE:
            continue
        count += 1
        name, protocols = AVAILABLE[dataset]
        scores = graphs if setting == "graph" else nodes
        counts = [len(scores.by_seed(name, protocol, names[method])) for protocol in protocols]
        if all(counts):
            seeds += counts
        else:
            missing.append(f"{method} on {dataset}")
    text = f"Of the {count} numbers that the paper prints for the datasets available here, {count - len(missing)} have "
    text += f"one of ours, the mean over {number_range(seeds)} seeds"
    return f"{text}{'; not yet: ' + ', '.join(missing) if missing else ''}.\n"


def render(results: Path) -> dict[str, str]:
    """The four tables, and how much of them is covered: results of two experiments."""
    nodes, graphs = Nodes().scores(results), Graphs().scores(results)
    tables = {f"paper_{one}": table_paper(graphs if one == "graph" else nodes, one) for one in TABLES}
    return tables | {"paper_facts": coverage(nodes, graphs)}


def _short(protocol: str) -> str:
    return SHORT.get(protocol, protocol)
