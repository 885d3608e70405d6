"""Run the notebooks of examples/ and store their outputs: ``python docs/notebooks.py [NOTEBOOK ...]``.

A notebook is JSON, and the cells of these are plain Python. So this file can run them and write them as pages, without
nbclient, ipykernel and myst-nb and the packages that those need.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

EXAMPLES = Path(__file__).parents[1] / "examples"

Notebook = dict[str, Any]


def read(path: Path) -> Notebook:
    """A notebook as it is stored."""
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def run(notebook: Notebook) -> Notebook:
    """The notebook with the outputs of its code cells, run in order in an empty folder."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    backend = mpl.get_backend()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        plt.switch_backend("agg")
        try:
            for number, cell in enumerate(notebook["cells"]):
                if cell["cell_type"] == "code":
                    outputs = list(_run_cell("".join(cell["source"]), f"cell {number}", names))
                    cell = cell | {"outputs": outputs, "execution_count": None}
                cells.append(cell)
        finally:
            plt.close("all")
            plt.switch_backend(backend)
    return notebook | {"cells": cells}


def _run_cell(source: str, name: str, names: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a cell prints, the value of a last expression, and the figures that it drew."""
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, name, "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), name, "eval"), names)
    if printed.getvalue():
        yield {"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(keepends=True)}
    for number in plt.get_fignums():
        image = io.BytesIO()
        plt.figure(number).savefig(image, format="png", dpi=80, bbox_inches="tight", metadata={"Software": None})
        data = {"image/png": base64.b64encode(image.getvalue()).decode()}
        yield {"output_type": "display_data", "data": data, "metadata": {}}
    drawn = bool(plt.get_fignums())
    plt.close("all")
    if value is not None and not drawn:  # the value of a plotting call is of no interest beside its figure
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        yield {"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": None}


def write_page(path: Path, folder: Path) -> Path:
    """Write a notebook with its stored outputs as a page of the documentation, with its pictures beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = []
    for number, cell in enumerate(read(path)["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source.replace("](../docs/", "](../../"))
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                picture = folder / f"{path.stem}_{number}.png"
                picture.write_bytes(base64.b64decode(data["image/png"]))
                parts.append(f"![{source.splitlines()[0].lstrip('# ')}]({picture.name})")
            else:
                text = "".join(output.get("text") or data["text/plain"]).rstrip()
                parts.append(f"```text\n{text}\n```")
    parts.append(f"*This page is the notebook `examples/{path.name}`.*")
    page = folder / f"{path.stem}.md"
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for path in [Path(name) for name in sys.argv[1:]] or sorted(EXAMPLES.glob("*.ipynb")):
        content = json.dumps(run(read(path)), indent=1, ensure_ascii=False)
        path.write_text(content + "\n", encoding="utf-8")
        print(path)
