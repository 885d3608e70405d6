"""The figure and the tables of ``benchmarks/kernel.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from girl.lab.markdown import markdown_list, markdown_table
from girl.reporting.figure import COLORS, figure

NAMES = {
    "published": "published algorithm (SVD of K)",
    "eigh_autograd": "torch.linalg.eigh with autograd",
    "ours_exact_clamp": "girl, exact, clamp",
    "ours_exact_ridge": "girl, exact, ridge",
    **{f"ours_nystrom_{rank}": f"girl, Nyström, rank {rank}" for rank in (128, 256, 512, 1024)},
    **{f"ours_fourier_{rank}": f"girl, Fourier, rank {rank}" for rank in (128, 256, 512, 1024)},
    "default": "girl, default",
}


def draw_kernel_bench(result: dict[str, Any], folder: Path) -> Path:
    """Time over rows on logarithmic axes, published and ours."""
    path = folder / "kernel_bench"
    styles = {
        "published": (COLORS["paper"], "o"),
        "eigh_autograd": (COLORS["fourth"], "s"),
        "ours_exact_ridge": (COLORS["third"], "^"),
        "default": (COLORS["ours"], "D"),
    }
    with figure(path, "One step of the KR loss, forward and backward", "rows n", "seconds") as axes:
        for name, (color, marker) in styles.items():
            points = [(row["n"], row["seconds"][name]) for row in result["against"]]
            axes.plot(*zip(*points, strict=True), color=color, marker=marker, label=f"{NAMES[name]} (d = m = 512)")
        points = [(row["n"], row["seconds"]) for row in result["scaling"]]
        label = f"girl, rank 256 (d = m = 128), slope {result['slope']:.2f}"
        axes.plot(*zip(*points, strict=True), color=COLORS["second"], marker="v", label=label)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.legend(fontsize=8)
    return path.with_suffix(".png")


def table_against(result: dict[str, Any]) -> str:
    """Seconds of every algorithm at every size."""
    sizes = result["against"]
    head = ["", *(f"n = {size['n']:,}" for size in sizes)]
    rows = [[name, *(f"{size['seconds'][key]:.3g} s" for size in sizes)] for key, name in NAMES.items()]
    rows.append(["**default against published**", *(f"{size['speedup']:.0f}×" for size in sizes)])
    return markdown_table(head, rows)


def table_scaling(result: dict[str, Any]) -> str:
    """Time and memory over n at d = m = 128, rank 256."""
    head = [
        "rows",
        "seconds",
        "microseconds per row",
        "peak memory over inputs",
        "fraction of the matrix-multiply rate",
    ]
    rows = [
        [
            f"{row['n']:,}",
            f"{row['seconds']:.2f}",
            f"{1e6 * row['seconds'] / row['n']:.1f}",
            f"{row['peak_over_inputs']:.1f}×",
            f"{row['share_of_matmul']:.0%}",
        ]
        for row in result["scaling"]
    ]
    return markdown_table(head, rows)


def findings(result: dict[str, Any]) -> str:
    """The other measurements of the same run."""
    sparse = result["sparse"]
    lines = [
        f"Machine: {result['provenance']['processor']}, {result['provenance']['cores']} cores; a 2,048³ float32 "
        f"product runs at {result['matmul_flops_per_second'] / 1e9:.0f} GFLOP/s.",
        f"Slope of time over rows, {result['slope_from']:,} to {result['slope_to']:,}, on logarithmic axes: "
        f"{result['slope']:.3f}.",
        f"Fraction of that rate in the products over rows at n = {result['against'][-1]['n']:,}, d = m = 512, rank "
        f"256: {result['share_of_matmul_4096']:.0%}.",
        f"CSR targets (n = {sparse['n']:,}, m = {sparse['m']:,}, 1 % full): {sparse['sparse_seconds']:.2f} s, dense "
        f"{sparse['dense_seconds']:.2f} s: {sparse['ratio']:.1f}× faster.",
    ]
    lines += [
        f"A GCN layer on {row['dataset']} ({row['rows']:,} rows): exact ρ̂ {row['exact']:.4f}, low-rank default "
        f"{row['default']:.4f}, {row['difference']:+.1%}."
        for row in result.get("activations", ())
    ]
    return markdown_list(lines)
