"""The tables of ``benchmarks/girl_step.py``."""

from __future__ import annotations

from typing import Any


def table_steps(result: dict[str, Any]) -> str:
    """Time and memory of a step of GIRL beside the bare encoder's, as Markdown."""
    lines = [
        "| dataset | encoder alone | GIRL step | ratio | encoder's memory | GIRL's memory | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {_title(row)} | {row['encoder_seconds']:.2f} s | {row['girl_seconds']:.2f} s | **{row['ratio']:.2f}×** "
        f"| {_megabytes(row['encoder_bytes'])} | {_megabytes(row['girl_bytes'])} | **{row['memory_ratio']:.2f}×** |"
        for row in result["steps"]
    ]
    return "\n".join(lines) + "\n"


def table_losses(result: dict[str, Any]) -> str:
    """What the published loss costs on the same activations and targets, as Markdown."""
    lines = ["| dataset | rows | published loss | shipped loss | |", "|---|---|---|---|---|"]
    lines += [
        f"| {name} | {row['rows']:,} | {row['published_seconds']:.2f} s | {row['shipped_seconds']:.3f} s "
        f"| {row['times']:.0f}× |"
        for name, rows in result["losses"].items()
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def table_accuracy(result: dict[str, Any]) -> str:
    """Validation accuracy and time a step over rows and rank, the shipped choice in bold, as Markdown."""
    pieces = []
    for name, rows in result["accuracy"].items():
        if not rows:
            continue
        protocols = list(rows[0]["val_mean"])
        shipped = result["recipes"][name]["method"]
        lines = [
            f"| {name}: rows | rank | {' | '.join(f'{protocol}, validation' for protocol in protocols)} | step |",
            "|---" * (len(protocols) + 3) + "|",
        ]
        for row in rows:
            scores = " | ".join(f"{100 * row['val_mean'][protocol]:.1f}" for protocol in protocols)
            if not row["epochs"]:
                lines.append(f"| untrained | | {scores} | |")
                continue
            choice = f"{row['rows']:,}" if row["rows"] else "all"
            rank = str(row["rank"])
            if (row["rows"], row["rank"]) == (shipped["rows"], shipped["rank"]):
                choice, rank = f"**{choice}**", f"**{rank}**"
            lines.append(f"| {choice} | {rank} | {scores} | {row['step_seconds']:.2f} s |")
        pieces.append("\n".join(lines) + "\n")
    return "\n".join(pieces)


def facts(result: dict[str, Any]) -> str:
    """The other measurements of the same run, and whether its aims are reached, as a Markdown list."""
    aims = result["targets"]
    threads = result["threads"]
    lines = [
        f"- Machine: {result['provenance']['processor']}, {result['provenance']['cores']} cores, {threads} "
        f"thread{'s' if threads > 1 else ''}."
    ]
    for row in result["steps"]:
        hops = f", {row['hops']} hops" if row["conv"] in ("appnp", "sgc") else ""
        drawn = f"{row['rows']:,} drawn" if 0 < row["rows"] < row["nodes"] else "all"
        lines.append(
            f"- {_title(row)}: {row['nodes']:,} nodes, {row['inputs']:,} features; {row['layers']} × {row['conv']}"
            f"{hops}, width {row['hidden']}; loss on {drawn} rows, rank {row['rank']}. Time "
            f"{_judged(row['ratio'], aims['step_ratio'])}, memory "
            f"{_judged(row['memory_ratio'], aims['memory_ratio'])}. Targets are made once, in "
            f"{row['prepare_seconds']:.1f} s."
        )
        if row["busy"] < 0.9:
            lines.append(
                f"- {_title(row)} was timed on a busy machine, where it had the processor {row['busy']:.0%} of the "
                f"time; by the processor's own clock the ratio is {row['cpu_ratio']:.2f}×."
            )
    for name, row in result["training"].items():
        size = row["peak_bytes"]
        reached = "below" if size < aims["training_bytes"] else "above"
        lines.append(
            f"- {name}: {row['epochs']} epochs in a fresh process take {row['seconds']:.0f} s, of which loading "
            f"{row['load_seconds']:.1f} s and steps {row['steps_seconds']:.0f} s; at most {size / 1e9:.2f} GB of "
            f"memory, {reached} the {aims['training_bytes'] / 1e9:.0f} GB aimed at."
        )
    return "\n".join(lines) + "\n"


def _judged(ratio: float, aim: float) -> str:
    return f"{ratio:.2f}× the encoder's ({'within' if ratio <= aim else 'missing'} the {aim:g}× aimed at)"


def _title(row: dict[str, Any]) -> str:
    return f"{row['dataset']} (stand-in)" if row["stand_in"] else str(row["dataset"])


def _megabytes(size: float) -> str:
    return f"{size / 1e6:,.0f} MB"
