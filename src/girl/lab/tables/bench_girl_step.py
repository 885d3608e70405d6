"""The tables of ``benchmarks/girl_step.py``."""

from __future__ import annotations

from typing import Any

from girl.lab.markdown import markdown_list, markdown_table
from girl.lab.scores import title_of


def table_steps(result: dict[str, Any]) -> str:
    """Time and memory of a step of GIRL beside the bare encoder's."""
    head = ["dataset", "batch", "encoder alone", "GIRL step", "ratio", "encoder's memory", "GIRL's memory", "ratio"]
    rows = [
        [
            title_of(row["dataset"], row["stand_in"]),
            row["batch"],
            f"{row['encoder_seconds']:.3g} s",
            f"{row['girl_seconds']:.3g} s",
            f"**{row['ratio']:.2f}×**",
            _megabytes(row["encoder_bytes"]),
            _megabytes(row["girl_bytes"]),
            f"**{row['memory_ratio']:.2f}×**",
        ]
        for row in result["steps"]
    ]
    return markdown_table(head, rows)


def table_losses(result: dict[str, Any]) -> str:
    """What the published loss costs on the same activations and targets."""
    rows = [
        [
            name,
            f"{row['rows']:,}",
            f"{row['published_seconds']:.2f} s",
            f"{row['shipped_seconds']:.3f} s",
            f"{row['times']:.0f}×",
        ]
        for name, measured in result["losses"].items()
        for row in measured
    ]
    return markdown_table(["dataset", "rows", "published loss", "shipped loss", ""], rows)


def table_accuracy(result: dict[str, Any]) -> str:
    """Validation accuracy and cost of training over rows and rank, the shipped choice in bold."""
    tables = []
    for name, measured in result["accuracy"].items():
        if not measured:
            continue
        protocols = list(measured[0]["val_mean"])
        shipped = result["recipes"][name]["method"]
        rows = []
        for row in measured:
            scores = [f"{100 * row['val_mean'][protocol]:.1f}" for protocol in protocols]
            if not row["epochs"]:
                rows.append(["untrained", "", *scores, ""])
                continue
            choice = f"{row['rows']:,}" if row["rows"] else "all"
            rank = str(row["rank"])
            if (row["rows"], row["rank"]) == (shipped["rows"], shipped["rank"]):
                choice, rank = f"**{choice}**", f"**{rank}**"
            rows.append([choice, rank, *scores, f"{row['cpu_seconds']:.0f} s"])
        head = [
            f"{name}: rows",
            "rank",
            *(f"{protocol}, validation" for protocol in protocols),
            "training, processor time",
        ]
        tables.append(markdown_table(head, rows))
    return "\n".join(tables)


def findings(result: dict[str, Any]) -> str:
    """The other measurements of the same run, and whether its targets are met."""
    targets = result["targets"]
    threads = result["threads"]
    lines = [
        f"Machine: {result['provenance']['processor']}, {result['provenance']['cores']} cores, {threads} "
        f"thread{'s' if threads > 1 else ''}."
    ]
    for row in result["steps"]:
        title = f"{title_of(row['dataset'], row['stand_in'])}, {row['batch']}"
        hops = f", {row['hops']} hops" if row["conv"] in ("appnp", "sgc") else ""
        drawn = f"{row['rows']:,} drawn" if 0 < row["rows"] < row["nodes"] else "all"
        lines.append(
            f"{title}: {row['nodes']:,} nodes, {row['inputs']:,} features; {row['layers']} × {row['conv']}"
            f"{hops}, width {row['hidden']}; loss on {drawn} rows, rank {row['rank']}. Time "
            f"{_met(row['ratio'], targets['step_ratio'])}, memory "
            f"{_met(row['memory_ratio'], targets['memory_ratio'])}, memory of the whole process, with the data, "
            f"{row['process_ratio']:.2f}×. The loss's targets are computed once, in "
            f"{row['prepare_seconds']:.1f} s."
        )
        if row["busy"] < 0.9:
            lines.append(
                f"{title} was timed on a busy machine: it had the processor {row['busy']:.0%} of the "
                f"time; in processor time the ratio is {row['cpu_ratio']:.2f}×."
            )
    for name, row in result["training"].items():
        size = row["peak_bytes"]
        side = "below" if size < targets["training_bytes"] else "above"
        lines.append(
            f"{name}: {row['epochs']} epochs in a fresh process take {row['seconds']:.0f} s, of which loading "
            f"{row['load_seconds']:.1f} s and steps {row['steps_seconds']:.0f} s; at most {size / 1e9:.2f} GB of "
            f"memory, {side} the target of {targets['training_bytes'] / 1e9:.0f} GB."
        )
    return markdown_list(lines)


def _met(ratio: float, target: float) -> str:
    return f"{ratio:.2f}× the encoder's ({'within' if ratio <= target else 'above'} the target of {target:g}×)"


def _megabytes(size: float) -> str:
    return f"{size / 1e6:,.0f} MB"
