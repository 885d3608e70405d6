"""Products with a sparse matrix and leading eigenvectors, from ``benchmarks/sparse.py``."""

from __future__ import annotations

from typing import Any

from girl.lab.markdown import markdown_list, markdown_table


def table_products(result: dict[str, Any]) -> str:
    """A row for each graph, width and number of threads: milliseconds of the forward and the backward pass."""
    cells: dict[tuple[Any, ...], dict[str, str]] = {}
    for row in result["rows"]:
        case = (f"{row['graph']} ({row['nodes']:,} nodes)", str(row["width"]), str(row["threads"]))
        times = f"{1000 * row['forward']:.1f} + {1000 * row['backward']:.1f}"
        cells.setdefault(case, {})[row["method"]] = times
    methods = list(dict.fromkeys(row["method"] for row in result["rows"]))
    rows = [[*case, *(times[method] for method in methods)] for case, times in cells.items()]
    return markdown_table(["graph", "width", "threads", *(f"{method}, ms" for method in methods)], rows)


def table_eigenvectors(result: dict[str, Any]) -> str:
    """A row for each graph and method."""
    rows = [
        [f"{row['graph']} ({row['nodes']:,} nodes)", row["method"], f"{row['seconds']:.1f} s", f"{row['quality']:.3f}"]
        for row in result["eigenvectors"]
    ]
    return markdown_table(["graph", "method", "time", "trace, of the best"], rows)


def findings(result: dict[str, Any]) -> str:
    """How the product that girl uses compares with the fastest of the others."""
    ratios = []
    totals: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in result["rows"]:
        case = (row["graph"], row["width"], row["threads"])
        totals.setdefault(case, {})[row["method"]] = row["forward"] + row["backward"]
    for times in totals.values():
        others = [value for method, value in times.items() if method != "torch"]
        ratios.append(min(others) / times["torch"])
    ratios.sort()
    origin = result["provenance"]
    return markdown_list(
        [
            f"girl uses torch's CSR product with a stored transpose. The fastest other takes {ratios[0]:.2f} to "
            f"{ratios[-1]:.2f} times as long, forward and backward together; the median of {len(ratios)} cases is "
            f"{ratios[len(ratios) // 2]:.2f}.",
            f"Each number is the {result['statistic']}, at a load of {result['load'][0]:.0f} processes; "
            f"{origin['processor']}, commit {origin['commit']}.",
        ]
    )
