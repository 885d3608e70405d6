"""The tables of ``benchmarks/scale.py``, and an extrapolation to a larger graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from girl.lab.cost_model import FLOAT, Epoch, Network, Rates, fit_rates, proportional
from girl.lab.markdown import markdown_list, markdown_table
from girl.lab.scores import title_of

#: Targets: gigabytes that a stage may take, by dataset.
MAX_GIGABYTES = {"ogbn-products": 16.0, "reddit": 12.0}

#: Targets: time per edge on products, relative to that on arxiv; seconds of a second start.
MAX_RATIO, MAX_START = 1.5, 20.0

PARTITION, RESTART, EPOCH = "operators and METIS parts", "second start", "GIRL, one epoch"
READ, EMBED = "raw files to a graph", "representations"

#: A graph that was not measured, with as many edges per node, and as many features, as ogbn-products.
NODES, PROCESSES = 100_000_000, (1, 8, 64)

#: Seconds from which on a time is given in minutes.
MINUTES = 120

#: Price of a core for an hour: an assumption. A process has as many cores as the benchmark had threads.
DOLLARS = 0.05


def table_stages(result: dict[str, Any]) -> str:
    """Seconds and peak of every stage on every graph."""
    done = result["rows"]
    sizes = []
    for row in done:
        graph = row["stages"][READ]
        sizes.append(f"{graph['nodes'] / 1e3:,.0f} k nodes, {graph['edges'] / 1e6:,.1f} M edges")
    lines = [["", *sizes]]
    lines += [[stage, *(_cost(row["stages"].get(stage)) for row in done)] for stage in done[0]["stages"]]
    return markdown_table(["", *(title_of(row["dataset"], row["stages"][READ]["stand_in"]) for row in done)], lines)


def _cost(stage: dict[str, Any] | None) -> str:
    return "–" if stage is None else f"{stage['seconds']:.0f} s, {stage['peak_bytes'] / 1e9:.1f} GB"


def findings(result: dict[str, Any]) -> str:
    """Which targets are met."""
    origin = result["provenance"]
    commits = ", ".join(dict.fromkeys(s["commit"] for row in result["rows"] for s in row["stages"].values()))
    lines = [f"{origin['processor']}, {origin['cores']} cores, {result['threads']} threads; of commit {commits}."]
    stages = {row["dataset"]: row["stages"] for row in result["rows"]}
    for name, most in MAX_GIGABYTES.items():
        if name in stages:
            stage = max(stages[name], key=lambda stage: float(stages[name][stage]["peak_bytes"]))
            peak = stages[name][stage]["peak_bytes"] / 1e9
            lines.append(f"{name}: at most {peak:.1f} GB, in the stage “{stage}”; {_met(peak, most, ' GB')}.")
    per_edge = {name: done[EPOCH]["epoch_seconds"] / done[EPOCH]["epoch_edges"] for name, done in stages.items()}
    within = {name: done[EPOCH]["epoch_seconds"] / done[EPOCH]["batch_edges"] for name, done in stages.items()}
    if {"ogbn-products", "ogbn-arxiv"} <= set(per_edge):
        ratio = per_edge["ogbn-products"] / per_edge["ogbn-arxiv"]
        inner = within["ogbn-products"] / within["ogbn-arxiv"]
        lines.append(
            f"An epoch of GIRL takes {1e9 * per_edge['ogbn-products']:.0f} ns for an edge of products and "
            f"{1e9 * per_edge['ogbn-arxiv']:.0f} ns for one of arxiv: {ratio:.2f}×, {_met(ratio, MAX_RATIO, '×')}. "
            f"Of the edges that METIS leaves within batches: {inner:.2f}×."
        )
    steps = ", ".join(
        f"{name} {done[EPOCH]['epoch_seconds']:.0f} of {done[EPOCH]['seconds']:.0f} s" for name, done in stages.items()
    )
    lines.append(
        f"Steps of the stage “{EPOCH}”: {steps}. The rest is done once, before the first epoch: "
        "starting, and preparing targets."
    )
    slowest = max(stages, key=lambda name: float(stages[name][RESTART]["seconds"]))
    start = stages[slowest][RESTART]["seconds"]
    lines.append(f"The slowest second start is that of {slowest}, {start:.1f} s; {_met(start, MAX_START, ' s')}.")
    mapped = {row["dataset"]: row["kept_bytes"] for row in result["rows"] if row.get("kept_bytes")}
    if mapped:
        sizes = ", ".join(f"{name} {size / 1e9:.1f} GB" for name, size in mapped.items())
        lines.append(f"Graph and features in mapped files: {sizes}.")
    return markdown_list(lines)


def _met(value: float, most: float, unit: str) -> str:
    return f"the target of {most:g}{unit} is {'met' if value <= most else 'missed'}"


def table_processes(result: dict[str, Any]) -> str:
    """Two processes against one, with the same threads each."""
    measured = result.get("processes")
    if measured is None:
        return ""
    one, two, threads = (measured[f"{way}_seconds"] for way in ("one", "two", "threads"))
    rows = [
        ["one process, one thread", f"{one:.1f} s", "1.00 ×", "–"],
        ["two processes, one thread each", f"{two:.1f} s", f"{one / two:.2f} ×", f"{50 * one / two:.0f} %"],
        ["one process, two threads", f"{threads:.1f} s", f"{one / threads:.2f} ×", f"{50 * one / threads:.0f} %"],
    ]
    return markdown_table(["", f"{measured['epochs']} epochs of {measured['dataset']}", "speed", "efficiency"], rows)


def table_model(result: dict[str, Any]) -> str:
    """The model's operations and seconds beside those measured."""
    works, seconds, rates = _fitted(result)
    rows = []
    for row, work, spent in zip(result["rows"], works, seconds, strict=True):
        predicted = rates.seconds(work)
        within = 100 * work.edges / row["stages"][EPOCH]["epoch_edges"]
        rows.append(
            [
                row["dataset"],
                f"{work.edges / 1e6:,.1f} M ({within:.0f} %)",
                f"{work.dense / 1e9:,.0f}",
                f"{work.sparse / 1e9:,.0f}",
                f"{spent:.1f} s",
                f"{predicted:.1f} s",
                f"{100 * (predicted / spent - 1):+.0f} %".replace("-", "−"),
            ]
        )
    head = ["", "edges in batches", "dense, 10⁹ operations", "sparse, 10⁹", "measured", "model", "off by"]
    return markdown_table(head, rows)


def fitted_rates(result: dict[str, Any]) -> str:
    """The fitted rates in a sentence."""
    _, _, rates = _fitted(result)
    dense, sparse = (f"{1e-9 / rate:.1f}" if rate else "unlimited" for rate in (rates.dense, rates.sparse))
    return (
        f"Fitted to {len(result['rows'])} graphs: {dense}·10⁹ dense operations a second and {sparse}·10⁹ sparse ones, "
        f"on {result['threads']} threads.\n"
    )


def table_larger(result: dict[str, Any]) -> str:
    """An epoch on a graph that was not measured, by one process and by many."""
    work, rates, efficiency = _larger(result), _fitted(result)[2], _efficiency(result)
    rows, network = [], Network()
    for processes in PROCESSES:
        steps = -(-work.steps // processes)
        spent = rates.seconds(work, processes, efficiency, network)
        waiting = steps * network.seconds(work.message, processes)
        rows.append(
            [
                f"{processes}",
                f"{steps:,}",
                f"{spent / 60:,.0f} min" if spent >= MINUTES else f"{spent:.0f} s",
                f"{work.message / 1e6:.2f} MB" if processes > 1 else "–",
                f"{100 * waiting / spent:.1f} %",
                f"{_rent(result, spent, processes):.2f}",
            ]
        )
    head = ["processes", "steps", "an epoch", "sent by each in a step", "of it waiting for messages", "dollars"]
    return markdown_table(head, rows)


def _rent(result: dict[str, Any], seconds: float, processes: int) -> float:
    return DOLLARS * processes * float(result["threads"]) * seconds / 3600


def larger_needs(result: dict[str, Any]) -> str:
    """What the larger graph needs beside training: time and memory of the other stages."""
    work = _larger(result)
    edges = round(work.nodes * _per_node(result))
    lines = [
        f"The graph: {work.nodes / 1e6:.0f} M nodes, {edges / 1e9:.1f}·10⁹ entries of the adjacency matrix, "
        f"{work.features} features; parts of as many nodes as for products, one for each process in a step."
    ]
    lines += [
        f"“{stage}”, in one process: {_size(result, stage, 'seconds', work, edges) / 3600:.1f} h and "
        f"{_size(result, stage, 'peak_bytes', work, edges) / 1e9:,.0f} GB."
        for stage in (READ, PARTITION, EMBED)
    ]
    once = [row["stages"][EPOCH]["seconds"] - row["stages"][EPOCH]["epoch_seconds"] for row in result["rows"]]
    hours = _extrapolated(result, once, work, edges) / 3600
    lines.append(
        f"GIRL's targets, once before all epochs, in one process: {hours:.1f} h; the other "
        "processes of a host wait, and map them."
    )
    lines.append(
        f"Of the {PROCESSES[-1]} processes each has {result['threads']} cores; efficiency on a host as measured with "
        f"two, {100 * _efficiency(result):.0f} %. Network, assumed: {Network().bandwidth * 8 / 1e9:.0f} Gbit/s, "
        f"{1e6 * Network().latency:.0f} µs. Price, assumed: {DOLLARS:g} dollars for a core and an hour."
    )
    return markdown_list(lines)


def _size(result: dict[str, Any], stage: str, key: str, work: Epoch, edges: float) -> float:
    """Seconds or bytes of a stage on the larger graph."""
    return _extrapolated(result, [row["stages"][stage][key] for row in result["rows"]], work, edges)


def _extrapolated(result: dict[str, Any], measured: list[float], work: Epoch, edges: float) -> float:
    """What was measured, extrapolated to the larger graph: in proportion to its features and edges."""
    graphs = [row["stages"][READ] for row in result["rows"]]
    features = [FLOAT * graph["nodes"] * graph["features"] for graph in graphs]
    per_byte, per_edge = proportional(features, [graph["edges"] for graph in graphs], measured)
    return per_byte * FLOAT * work.nodes * work.features + per_edge * edges


def _fitted(result: dict[str, Any]) -> tuple[list[Epoch], list[float], Rates]:
    epochs = [row["stages"][EPOCH] for row in result["rows"]]
    works = [
        Epoch(
            epoch["epoch_nodes"],
            epoch["batch_edges"],
            row["stages"][READ]["features"],
            epoch["steps"],
            epoch["hidden"],
            epoch["hops"],
            epoch["rows"],
            epoch["rank"],
            epoch["columns"],
        )
        for row, epoch in zip(result["rows"], epochs, strict=True)
    ]
    seconds = [epoch["epoch_seconds"] for epoch in epochs]
    return works, seconds, fit_rates(works, seconds)


def _larger(result: dict[str, Any]) -> Epoch:
    """The largest graph that was measured, grown."""
    works, _, _ = _fitted(result)
    last = max(works, key=lambda work: work.nodes)
    times = NODES / last.nodes
    return replace(last, nodes=NODES, edges=round(times * last.edges), steps=round(times * last.steps))


def _per_node(result: dict[str, Any]) -> float:
    graph = max((row["stages"][READ] for row in result["rows"]), key=lambda graph: float(graph["nodes"]))
    return float(graph["edges"] / graph["nodes"])


def _efficiency(result: dict[str, Any]) -> float:
    measured = result.get("processes")
    return 1.0 if measured is None else min(1.0, float(measured["one_seconds"] / measured["two_seconds"] / 2))
