"""Render every table and figure of the documentation from results: ``python -m girl.lab.render RESULTS OUT``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from girl.files import write_text
from girl.lab.markdown import not_computed
from girl.lab.registry import EXPERIMENTS
from girl.lab.tables import bench_default as default_bench
from girl.lab.tables import bench_girl_step as girl_bench
from girl.lab.tables import bench_kernel as kernel_bench
from girl.lab.tables import bench_methods as methods_bench
from girl.lab.tables import bench_partition as partition_bench
from girl.lab.tables import bench_regularizer as regularizer_bench
from girl.lab.tables import bench_scale as scale_bench
from girl.lab.tables import bench_sparse as sparse_bench
from girl.lab.tables import paper, recorded

#: The benchmarks: the file of results, the script that writes it, and the functions that make Markdown of it, by the
#: name of the file that pages include.
BENCHES: dict[str, tuple[str, dict[str, Callable[[dict[str, Any]], str]]]] = {
    "default.json": (
        "default.py",
        {"default_cost": default_bench.table_cost, "default_cost_facts": default_bench.findings},
    ),
    "kernel.json": (
        "kernel.py",
        {
            "kernel_against": kernel_bench.table_against,
            "kernel_scaling": kernel_bench.table_scaling,
            "kernel_facts": kernel_bench.findings,
        },
    ),
    "girl.json": (
        "girl_step.py",
        {
            "girl_steps": girl_bench.table_steps,
            "girl_losses": girl_bench.table_losses,
            "girl_accuracy": girl_bench.table_accuracy,
            "girl_facts": girl_bench.findings,
        },
    ),
    "regularizer.json": (
        "regularizer.py",
        {"regularizer_table": regularizer_bench.table_regularizer, "regularizer_facts": regularizer_bench.findings},
    ),
    "sparse.json": (
        "sparse.py",
        {
            "sparse_products": sparse_bench.table_products,
            "sparse_eigenvectors": sparse_bench.table_eigenvectors,
            "sparse_facts": sparse_bench.findings,
        },
    ),
    "methods.json": (
        "methods.py",
        {"methods_epochs": methods_bench.table_epochs, "methods_epochs_facts": methods_bench.findings},
    ),
    "partition.json": ("partition.py", {"partition_loss": partition_bench.partition_loss}),
    "scale.json": (
        "scale.py",
        {
            "scale_stages": scale_bench.table_stages,
            "scale_facts": scale_bench.findings,
            "scale_processes": scale_bench.table_processes,
            "scale_model": scale_bench.table_model,
            "scale_rates": scale_bench.fitted_rates,
            "scale_larger": scale_bench.table_larger,
            "scale_larger_facts": scale_bench.larger_needs,
        },
    ),
}


def render(results: Path, out: Path) -> None:
    """Write every table, as Markdown, and every figure, as SVG and PNG, into the folder ``out``.

    Where results are missing, the Markdown names the command that computes them.
    """
    rendered: dict[str, str] = {}
    for experiment in EXPERIMENTS:
        rendered |= experiment.render(results, out)
    rendered |= paper.render(results) | recorded.render(results)
    for file, (script, makers) in BENCHES.items():
        rendered |= _render_bench(results / "bench" / file, script, makers)
    kernel_bench.draw_kernel_bench(_read(results / "bench" / "kernel.json"), out)
    for name, text in rendered.items():
        write_text(out / f"{name}.md", text)


def _render_bench(path: Path, script: str, makers: dict[str, Callable[[dict[str, Any]], str]]) -> dict[str, str]:
    missing = not_computed(f"python benchmarks/{script}")
    result = _read(path) if path.exists() else None
    return {name: missing if result is None else make(result) or missing for name, make in makers.items()}


def _read(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value


if __name__ == "__main__":
    render(Path(sys.argv[1]), Path(sys.argv[2]))
    print(f"rendered: {sys.argv[2]}")
