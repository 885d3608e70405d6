"""The tables of the default, from ``girl reproduce default``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from girl.evaluation.controls import CONTROLS
from girl.evaluation.metrics import Summary
from girl.graph.bands import BANDS
from girl.lab.default import DEFAULT_PROTOCOLS, OTHER_PROTOCOLS, Default
from girl.lab.markdown import markdown_list, markdown_table, not_computed
from girl.lab.scores import MethodScores, Scores, bold_best, is_gain, number_range

#: The columns of a table. The default is the first, so that it is seen without scrolling.
COLUMNS = ("default", *CONTROLS, "untrained")
#: The control that is put together from others.
CONCATENATED = "concatenated"


def rows_of(
    scores: Scores, width: int, protocols_of: Mapping[str, Sequence[str]] = DEFAULT_PROTOCOLS
) -> list[tuple[str, str, dict[str, Summary]]]:
    """Dataset, protocol and the scores of each column, where the default has any."""
    rows = []
    for dataset, protocols in protocols_of.items():
        for protocol in protocols:
            every = {name: scores.summary(dataset, protocol, f"{name} {width}") for name in COLUMNS}
            summaries = {name: summary for name, summary in every.items() if summary is not None}
            if "default" in summaries and len(summaries) > 1:
                rows.append((dataset, protocol, summaries))
    return rows


def table_default(scores: Scores, width: int, protocols_of: Mapping[str, Sequence[str]] = DEFAULT_PROTOCOLS) -> str:
    """Test scores, mean ± standard deviation; the best of a row in bold."""
    body = [
        [f"{scores.title(dataset)}, `{protocol}`", *bold_best([summaries.get(name) for name in COLUMNS])]
        for dataset, protocol, summaries in rows_of(scores, width, protocols_of)
    ]
    return markdown_table([f"{width} columns", *COLUMNS], body) if body else not_computed(_command(protocols_of))


def _command(protocols_of: Mapping[str, Sequence[str]]) -> str:
    """The command that computes a table."""
    other = protocols_of is OTHER_PROTOCOLS
    return f"{Default().command} --datasets {' '.join(protocols_of)}" if other else Default().command


def facts(scores: Scores, width: int) -> str:
    """On how many rows the default is at least as good as every control, and better."""
    rows = rows_of(scores, width)
    if not rows:
        return not_computed(Default().command)
    ranks = [
        1 + sum(summary.mean > summaries["default"].mean for name, summary in summaries.items() if name != "default")
        for _, _, summaries in rows
    ]
    seeds = number_range([len(scores.by_seed(d, p, f"default {width}")) for d, p, _ in rows])
    single = [name for name in COLUMNS[1:] if name != CONCATENATED]
    lines = [
        f"{len(rows)} rows of {width} columns, {seeds} seeds, linear probe. Differences are paired over seeds.",
        f"Against the best of {', '.join(single[:-1])} and {single[-1]}, by test mean of each row: "
        + _gains_and_losses(scores, width, single),
        f"Against {CONCATENATED}, raw features, ppr and positions side by side: "
        + _gains_and_losses(scores, width, [CONCATENATED]),
        f"Its mean rank among the {len(COLUMNS)} columns is {mean(ranks):.2f}.",
    ]
    return markdown_list(lines)


def _gains_and_losses(scores: Scores, width: int, controls: Sequence[str]) -> str:
    """Where the default is better or worse by more than a standard error than the best of some controls."""
    losses, gains, count = [], 0, 0
    for dataset, protocol, summaries in rows_of(scores, width):
        means = {name: summaries[name].mean for name in controls if name in summaries}
        if not means:
            continue
        count += 1
        best = max(means, key=means.__getitem__)
        difference = scores.difference(dataset, protocol, f"default {width}", f"{best} {width}")
        if is_gain(difference):
            gains += 1
        elif difference is not None and difference.error is not None and difference.difference < -difference.error:
            losses.append(f"{scores.title(dataset)} `{protocol}` ({best}, {difference})")
    listed = f": {'; '.join(losses)}." if losses else "."
    return f"better by more than a standard error on {gains} of {count} rows, and worse on {len(losses)}{listed}"


def table_peers(scores: Scores, nodes: MethodScores) -> str:
    """The default beside GIRL with a recipe tuned on labels, and beside the best other method, where these were run."""
    body, ranks = [], []
    for dataset, protocol, summaries in rows_of(scores, 256):
        peers = {name: summary for name in nodes.peers if (summary := nodes.summary(dataset, protocol, name))}
        if not peers:
            continue
        best = max(peers, key=lambda name: peers[name].mean)
        ranks.append(1 + sum(peer.mean > summaries["default"].mean for peer in peers.values()))
        tuned = nodes.summary(dataset, protocol, "girl")
        body.append(
            [
                f"{scores.title(dataset)}, `{protocol}`",
                str(summaries["default"]),
                "–" if tuned is None else str(tuned),
                f"{best}: {peers[best]}",
                str(ranks[-1]),
                str(len(peers)),
            ]
        )
    if not body:
        return not_computed(nodes.command)
    head = ["", "default", "GIRL, tuned with labels", "best other method", "rank of the default", "other methods"]
    return markdown_table(head, body) + f"\nThe mean rank of the default among these methods is {mean(ranks):.2f}.\n"


def table_choices(results: Sequence[dict[str, Any]], scores: Scores) -> str:
    """The mean scale of each band on each graph, and what was explained."""
    body = []
    for dataset in (*DEFAULT_PROTOCOLS, *OTHER_PROTOCOLS):
        chosen = [r["choices"] for r in results if r["dataset"] == dataset and r["method"] == "default 256"]
        if not chosen:
            continue
        scales = {name: mean(one["scales"].get(name, 0.0) for one in chosen) for name in BANDS}
        explained = {
            name: mean(one["explained"][name] for one in chosen if name in one["explained"])
            for name in ("columns", "neighbors", "positions")
            if any(name in one["explained"] for one in chosen)
        }
        shares = [f"{100 * explained[n]:.0f}" if n in explained else "–" for n in ("columns", "neighbors", "positions")]
        body.append(
            [scores.title(dataset), *shares, *(f"{scale:.2f}" if scale >= 0.005 else "" for scale in scales.values())]
        )
    head = ["", "columns %", "neighbours %", "positions %", *BANDS]
    return markdown_table(head, body) if body else not_computed(Default().command)


def render(results: Sequence[dict[str, Any]], nodes: MethodScores) -> dict[str, str]:
    """Tables for both widths, the facts, the choices, and other methods."""
    scores = Scores(results)
    return {
        **{f"default_{width}": table_default(scores, width) for width in (256, 512)},
        **{f"default_facts_{width}": facts(scores, width) for width in (256, 512)},
        "default_other": table_default(scores, 256, OTHER_PROTOCOLS),
        "default_choices": table_choices(results, scores),
        "default_peers": table_peers(scores, nodes),
    }
