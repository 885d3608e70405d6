"""The paper's four self-supervised tables, cell by cell: what was printed, and what we measure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from girl.lab import graphs
from girl.lab.markdown import markdown
from girl.lab.nodes import PROTOCOLS
from girl.lab.published import table
from girl.lab.scores import Scores, seeds_in_words
from girl.lab.tables.methods import METHODS_IN_PAPER
from girl.lab.tables.nodes import IN_PAPER

#: The tables, in the paper's order.
TABLES = ("transductive", "inductive", "heterophilic", "graph")

#: The columns by our names, GIRL's last as in the paper.
METHODS = {name: METHODS_IN_PAPER[name] for name in (*list(METHODS_IN_PAPER)[1:], "girl")}

#: The paper's names of the datasets at hand.
DATASETS = IN_PAPER | {name: name.upper() for name in graphs.DATASETS}

#: Protocols, short enough for a cell.
SHORT = {"random-10-10-80": "10/10/80", "random-60-20-20": "60/20/20"}


@cache
def printed() -> dict[tuple[str, str], tuple[str, str, str]]:
    """Setting, accuracy and protocol ("" if it is not known) of every number of the paper, by dataset and method."""
    protocols = {(row["dataset"], row["method"]): row["protocol"] for row in table("protocols")}
    found = {}
    for row in table("self_supervised"):
        place = row["dataset"], row["method"]
        protocol = "10-fold" if row["setting"] == "graph" else protocols.get(place, "")
        found[place] = row["setting"], row["accuracy"], protocol
    return found


def places() -> dict[str, tuple[str, tuple[str, ...]]]:
    """The paper's datasets that are at hand: our name, and the protocols under which we measure."""
    return {
        printed: (name, ("10-fold",) if name in graphs.DATASETS else PROTOCOLS[name])
        for name, printed in DATASETS.items()
    }


def table_paper(scores: Mapping[str, Scores], setting: str) -> str:
    """One of the four tables as Markdown: ``printed (its protocol) / ours``, ours under every protocol of the row.

    Args:
        scores: what was measured, on ``nodes`` (linear probe) and on ``graphs`` (kernel machine).
        setting: which table, of :data:`TABLES`.
    """
    own = scores["graphs" if setting == "graph" else "nodes"]
    cells = {place: value for place, value in printed().items() if value[0] == setting}
    shown = [name for name, paper in METHODS.items() if any(method == paper for _, method in cells)]
    rows = []
    for dataset in dict.fromkeys(dataset for dataset, _ in cells):
        name, protocols = places().get(dataset, (dataset, ()))
        row = [dataset, " · ".join(_short(protocol) for protocol in protocols) or "not at hand"]
        for method in shown:
            theirs = "–"
            if (dataset, METHODS[method]) in cells:
                _, accuracy, protocol = cells[dataset, METHODS[method]]
                theirs = f"{accuracy} ({_short(protocol)})" if protocol else accuracy
            means = [own.summary(name, protocol, method) for protocol in protocols]
            ours = " · ".join("–" if one is None else f"{100 * one.mean:.1f}" for one in means)
            row.append(f"{theirs} / {ours or '–'}")
        rows.append(row)
    return markdown(["dataset", "ours under", *(METHODS[name] for name in shown)], rows)


def facts(scores: Mapping[str, Scores]) -> str:
    """How many of the paper's numbers on datasets at hand have one of ours beside them."""
    methods = {paper: name for name, paper in METHODS.items()}
    known, lacking, counts = 0, [], []
    for (dataset, method), (setting, _, _) in printed().items():
        if dataset not in places():
            continue
        known += 1
        name, protocols = places()[dataset]
        own = scores["graphs" if setting == "graph" else "nodes"]
        seeds = [len(own.by_seed(name, protocol, methods[method])) for protocol in protocols]
        if all(seeds):
            counts += seeds
        else:
            lacking.append(f"{method} on {dataset}")
    text = f"Of the {known} numbers that the paper prints for the datasets at hand, {known - len(lacking)} have one of"
    text += f" ours, the mean over {seeds_in_words(counts)} seeds"
    return f"{text}{'; not yet: ' + ', '.join(lacking) if lacking else ''}.\n"


def pieces(scores: Mapping[str, Scores]) -> dict[str, str]:
    """The four tables, by the names that pages include them by."""
    found = {f"paper_{setting}": table_paper(scores, setting) for setting in TABLES}
    return found | {"paper_facts": facts(scores)}


def _short(protocol: str) -> str:
    return SHORT.get(protocol, protocol)
