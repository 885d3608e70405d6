"""Render every table and figure of the documentation from results: ``python -m girl.report.docs RESULTS OUT``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from girl.files import write_text
from girl.report.kernel_bench import draw_kernel_bench, facts, table_against, table_scaling
from girl.report.synthetic import draw_synthetic, table_1d, table_errors


def render(results: Path, out: Path) -> list[Path]:
    """Write the pieces that the pages include; returns what was written."""
    synthetic = _read(results / "synthetic.json")
    bench = _read(results / "bench" / "kernel.json")
    written = [*draw_synthetic(synthetic, out), draw_kernel_bench(bench, out)]
    settings = synthetic["settings"]
    pieces = {
        "synthetic_table": table_1d(synthetic),
        "synthetic_errors": table_errors(synthetic),
        "synthetic_settings": f"{settings['draws']} draws of {settings['samples']:,} samples each, seed "
        f"{settings['seed']}, {synthetic['seconds']:.0f} s in all.\n",
        "kernel_against": table_against(bench),
        "kernel_scaling": table_scaling(bench),
        "kernel_facts": facts(bench),
    }
    for name, text in pieces.items():
        write_text(out / f"{name}.md", text)
        written.append(out / f"{name}.md")
    return written


def _read(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value


if __name__ == "__main__":
    for path in render(Path(sys.argv[1]), Path(sys.argv[2])):
        print(path)
