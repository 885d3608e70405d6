"""The written pages: which there are, and the code, commands and names in them."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
#: README and documentation, without what a build writes.
PAGES = [
    ROOT / "README.md",
    *sorted(p for p in DOCS.rglob("*.md") if not {"generated", "_build"} & set(p.relative_to(DOCS).parts)),
]


def blocks(text: str, *languages: str) -> list[tuple[str, str]]:
    """The fenced blocks of these languages, as (language, code), in order."""
    return re.findall(rf"```({'|'.join(languages)})\n(.*?)```", text, flags=re.DOTALL)


def prose(text: str) -> str:
    """A page without its fenced blocks; directives such as ``{eval-rst}`` are blocks too."""
    return re.sub(r"^(```+|:::+).*?^\1\s*$", "", text, flags=re.DOTALL | re.MULTILINE)


def cells(notebook: Path, kind: str) -> list[str]:
    """The source of a notebook's cells of one kind: code or markdown."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == kind]
