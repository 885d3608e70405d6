"""The tables of ``benchmarks/scale.py``, and what they say of graphs that are larger still."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from girl.lab.markdown import markdown
from girl.lab.scaling import FLOAT, Network, Rates, Work, fit, fit_size
from girl.lab.scores import title_of

#: Gigabytes that a stage may take, by dataset.
MOST = {"ogbn-products": 16.0, "reddit": 12.0}

#: Time per edge on products, in that on arxiv; seconds of a second start.
SLOWER, START = 1.5, 20.0

CUT, AGAIN, EPOCH = "operators and METIS parts", "second start", "GIRL, one epoch"
READ, EMBED = "raw files to a graph", "representations"

#: A graph that nobody measured: as many edges for a node, and as many features, as ogbn-products.
NODES, PROCESSES = 100_000_000, (1, 8, 64)

#: Seconds from which on a time is told in minutes.
MINUTES = 120

#: Dollars for a core and an hour: for orientation. A process has as many cores as the benchmark had threads.
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
    return markdown(["", *(title_of(row["dataset"], row["stages"][READ]["stand_in"]) for row in done)], lines)


def _cost(stage: dict[str, Any] | None) -> str:
    return "–" if stage is None else f"{stage['seconds']:.0f} s, {stage['peak_bytes'] / 1e9:.1f} GB"


def facts(result: dict[str, Any]) -> str:
    """The targets, met or not, as a Markdown list."""
    where = result["provenance"]
    found = [stage["commit"] for row in result["rows"] for stage in row["stages"].values()]
    commits = ", ".join(dict.fromkeys(found))
    lines = [f"- {where['processor']}, {where['cores']} cores, {result['threads']} threads; of commit {commits}."]
    stages = {row["dataset"]: row["stages"] for row in result["rows"]}
    for name, most in MOST.items():
        if name in stages:
            stage = max(stages[name], key=lambda stage: float(stages[name][stage]["peak_bytes"]))
            peak = stages[name][stage]["peak_bytes"] / 1e9
            lines.append(f"- {name}: at most {peak:.1f} GB, in the stage “{stage}”; {_met(peak, most, ' GB')}.")
    per_edge = {name: done[EPOCH]["epoch_seconds"] / done[EPOCH]["epoch_edges"] for name, done in stages.items()}
    within = {name: done[EPOCH]["epoch_seconds"] / done[EPOCH]["batch_edges"] for name, done in stages.items()}
    if {"ogbn-products", "ogbn-arxiv"} <= set(per_edge):
        ratio = per_edge["ogbn-products"] / per_edge["ogbn-arxiv"]
        inner = within["ogbn-products"] / within["ogbn-arxiv"]
        lines.append(
            f"- An epoch of GIRL takes {1e9 * per_edge['ogbn-products']:.0f} ns for an edge of products and "
            f"{1e9 * per_edge['ogbn-arxiv']:.0f} ns for one of arxiv: {ratio:.2f}×, {_met(ratio, SLOWER, '×')}. Of the "
            f"edges that METIS leaves within batches: {inner:.2f}×."
        )
    told = ", ".join(
        f"{name} {done[EPOCH]['epoch_seconds']:.0f} of {done[EPOCH]['seconds']:.0f} s" for name, done in stages.items()
    )
    lines.append(f"- Steps of the stage “{EPOCH}”: {told}. The rest is once for all epochs: starting, and targets.")
    slowest = max(stages, key=lambda name: float(stages[name][AGAIN]["seconds"]))
    start = stages[slowest][AGAIN]["seconds"]
    lines.append(f"- The slowest second start is that of {slowest}, {start:.1f} s; {_met(start, START, ' s')}.")
    kept = {row["dataset"]: row["kept_bytes"] for row in result["rows"] if row.get("kept_bytes")}
    if kept:
        told = ", ".join(f"{name} {size / 1e9:.1f} GB" for name, size in kept.items())
        lines.append(f"- Graph and features as training maps them: {told}.")
    return "\n".join(lines) + "\n"


def _met(value: float, most: float, unit: str) -> str:
    return f"the target of {most:g}{unit} is {'met' if value <= most else 'missed'}"


def table_processes(result: dict[str, Any]) -> str:
    """Two processes against one, with the same threads each."""
    found = result.get("processes")
    if found is None:
        return ""
    one, two, threads = (found[f"{way}_seconds"] for way in ("one", "two", "threads"))
    rows = [
        ["one process, one thread", f"{one:.1f} s", "1.00 ×", "–"],
        ["two processes, one thread each", f"{two:.1f} s", f"{one / two:.2f} ×", f"{50 * one / two:.0f} %"],
        ["one process, two threads", f"{threads:.1f} s", f"{one / threads:.2f} ×", f"{50 * one / threads:.0f} %"],
    ]
    return markdown(["", f"{found['epochs']} epochs of {found['dataset']}", "speed", "efficiency"], rows)


def table_model(result: dict[str, Any]) -> str:
    """The model's operations and seconds beside those measured."""
    works, seconds, rates = _fitted(result)
    rows = []
    for row, work, spent in zip(result["rows"], works, seconds, strict=True):
        told = rates.alone(work)
        within = 100 * work.edges / row["stages"][EPOCH]["epoch_edges"]
        rows.append(
            [
                row["dataset"],
                f"{work.edges / 1e6:,.1f} M ({within:.0f} %)",
                f"{work.dense / 1e9:,.0f}",
                f"{work.sparse / 1e9:,.0f}",
                f"{spent:.1f} s",
                f"{told:.1f} s",
                f"{100 * (told / spent - 1):+.0f} %".replace("-", "−"),
            ]
        )
    head = ["", "edges in batches", "dense, 10⁹ operations", "sparse, 10⁹", "measured", "model", "off by"]
    return markdown(head, rows)


def rates_told(result: dict[str, Any]) -> str:
    """The fitted rates in a sentence."""
    _, _, rates = _fitted(result)
    dense, sparse = (f"{1e-9 / rate:.1f}" if rate else "unboundedly many" for rate in (rates.dense, rates.sparse))
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
        spent = rates.shared(work, processes, efficiency, network)
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
    return markdown(head, rows)


def _rent(result: dict[str, Any], seconds: float, processes: int) -> float:
    return DOLLARS * processes * float(result["threads"]) * seconds / 3600


def larger_facts(result: dict[str, Any]) -> str:
    """What the larger graph asks of one machine before and after, as a Markdown list."""
    work = _larger(result)
    whole = round(work.nodes * _per_node(result))
    lines = [
        f"- The graph: {work.nodes / 1e6:.0f} M nodes, {whole / 1e9:.1f}·10⁹ entries of the adjacency matrix, "
        f"{work.features} features; as many parts of as many nodes as for products, one for each process in a step."
    ]
    lines += [
        f"- “{stage}”, in one process: {_size(result, stage, 'seconds', work, whole) / 3600:.1f} h and "
        f"{_size(result, stage, 'peak_bytes', work, whole) / 1e9:,.0f} GB."
        for stage in (READ, CUT, EMBED)
    ]
    once = [row["stages"][EPOCH]["seconds"] - row["stages"][EPOCH]["epoch_seconds"] for row in result["rows"]]
    lines.append(
        f"- GIRL's targets, once before all epochs, in one process: {_grown(result, once, work, whole) / 3600:.1f} h; "
        "the other processes of a host wait for them and map them."
    )
    lines.append(
        f"- Of the {PROCESSES[-1]} processes each has {result['threads']} cores; efficiency on a host as measured with "
        f"two, {100 * _efficiency(result):.0f} %. Network, assumed: {Network().bandwidth * 8 / 1e9:.0f} Gbit/s, "
        f"{1e6 * Network().latency:.0f} µs. Price, assumed: {DOLLARS:g} dollars for a core and an hour."
    )
    return "\n".join(lines) + "\n"


def _size(result: dict[str, Any], stage: str, key: str, work: Work, edges: float) -> float:
    """Seconds or bytes of a stage on the larger graph."""
    return _grown(result, [row["stages"][stage][key] for row in result["rows"]], work, edges)


def _grown(result: dict[str, Any], measured: list[float], work: Work, edges: float) -> float:
    """What was measured on each graph, on the larger one: in proportion to its features and edges."""
    graphs = [row["stages"][READ] for row in result["rows"]]
    features = [FLOAT * graph["nodes"] * graph["features"] for graph in graphs]
    first, second = fit_size(features, [graph["edges"] for graph in graphs], measured)
    return first * FLOAT * work.nodes * work.features + second * edges


def _fitted(result: dict[str, Any]) -> tuple[list[Work], list[float], Rates]:
    epochs = [row["stages"][EPOCH] for row in result["rows"]]
    works = [
        Work(
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
    return works, seconds, fit(works, seconds)


def _larger(result: dict[str, Any]) -> Work:
    """The largest graph that was measured, grown."""
    works, _, _ = _fitted(result)
    last = max(works, key=lambda work: work.nodes)
    times = NODES / last.nodes
    return replace(last, nodes=NODES, edges=round(times * last.edges), steps=round(times * last.steps))


def _per_node(result: dict[str, Any]) -> float:
    graph = max((row["stages"][READ] for row in result["rows"]), key=lambda graph: float(graph["nodes"]))
    return float(graph["edges"] / graph["nodes"])


def _efficiency(result: dict[str, Any]) -> float:
    found = result.get("processes")
    return 1.0 if found is None else min(1.0, float(found["one_seconds"] / found["two_seconds"] / 2))
