"""The tables of the default on sets of graphs, from ``girl reproduce default-graphs``."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import Any

from girl.graph.set_bands import SET_BANDS, SET_TARGET_TEXT
from girl.lab.default_graphs import METHODS, PROTOCOL, DefaultGraphs
from girl.lab.graphs import DATASETS
from girl.lab.markdown import markdown_list, markdown_table, not_computed
from girl.lab.scores import Scores, bold_best, is_gain, number_range

#: The columns of the table. The default is the first.
COLUMNS = ("default", *(name for name in METHODS if name != "default"))
CONTROLS = tuple(name for name in METHODS if not name.startswith("default"))


def table_scores(scores: Scores) -> str:
    """Test accuracy, mean ± standard deviation over seeds; the best of a row in bold."""
    body = []
    for dataset in DATASETS:
        summaries = [scores.summary(dataset, PROTOCOL, name) for name in COLUMNS]
        if summaries[0] is not None:
            body.append([scores.title(dataset), *bold_best(summaries)])
    return markdown_table(["", *COLUMNS], body) if body else not_computed(DefaultGraphs().command)


def facts(scores: Scores) -> str:
    """Where the default is better than every control, and where it is not."""
    computed = [name for name in DATASETS if scores.summary(name, PROTOCOL, "default") is not None]
    if not computed:
        return not_computed(DefaultGraphs().command)
    seeds = number_range([len(scores.by_seed(name, PROTOCOL, "default")) for name in computed])
    lines = [f"{seeds} seeds, each with ten folds of its own. Differences are paired over seeds."]
    for dataset in computed:
        summaries = {name: scores.summary(dataset, PROTOCOL, name) for name in CONTROLS}
        means = {name: summary.mean for name, summary in summaries.items() if summary is not None}
        if not means:
            continue
        best = max(means, key=lambda name: means[name])
        difference = scores.difference(dataset, PROTOCOL, "default", best)
        if difference is not None:
            word = "better than" if is_gain(difference) else "not better than"
            lines.append(f"{scores.title(dataset)}: {word} the best control, {best} ({difference}).")
    return markdown_list(lines)


def table_choices(results: Sequence[dict[str, Any]], scores: Scores) -> str:
    """The mean scale of each band on each set, and what was explained."""
    body = []
    for dataset in DATASETS:
        chosen = [r["choices"] for r in results if r["dataset"] == dataset and r["method"] == "default"]
        if chosen:
            shares = [
                f"{100 * mean(one['explained'].get(name, 0.0) for one in chosen):.0f}" for name in SET_TARGET_TEXT
            ]
            scales = [mean(one["scales"].get(name, 0.0) for one in chosen) for name in SET_BANDS]
            body.append([scores.title(dataset), *shares, *(f"{s:.2f}" if s >= 0.005 else "" for s in scales)])
    head = ["", *(f"{text} %" for text in SET_TARGET_TEXT.values()), *SET_BANDS]
    return markdown_table(head, body) if body else not_computed(DefaultGraphs().command)


def render(results: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The table, the facts, and the choices."""
    scores = Scores(results, "svm")
    return {
        "default_graphs": table_scores(scores),
        "default_graphs_facts": facts(scores),
        "default_graphs_choices": table_choices(results, scores),
    }
