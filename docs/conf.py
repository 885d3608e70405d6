from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx

import girl

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))
from notebooks import EXAMPLES, write_page  # noqa: E402

project = "girl"
author = "the girl developers"
copyright = "2026, the girl developers"
release = version = girl.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # MathJax is copied into the pages: they render without a network
    "cyclopts.sphinx_ext",
]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_default_options = {"show-inheritance": False}
nitpicky = False

html_theme = "furo"
html_title = "girl"
exclude_patterns = ["_build", "generated/*.md", "figures/*.md", "pieces/*.md"]


for notebook in EXAMPLES.glob("*.ipynb"):  # with the outputs that are stored in it
    write_page(notebook, DOCS / "generated" / "examples")


def setup(app: Sphinx) -> None:
    """Keep napoleon from reading the text of an attribute before its first colon as the attribute's type."""
    texts: dict[str, list[str]] = {}

    def save(app: Sphinx, what: str, name: str, item: object, options: object, lines: list[str]) -> None:
        if what == "attribute":
            texts[name] = list(lines)

    def restore(app: Sphinx, what: str, name: str, item: object, options: object, lines: list[str]) -> None:
        if what == "attribute":
            lines[:] = texts[name]

    app.connect("autodoc-process-docstring", save, priority=400)  # napoleon is at 500
    app.connect("autodoc-process-docstring", restore, priority=600)
