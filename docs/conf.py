from __future__ import annotations

import girl

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
exclude_patterns = ["_build", "generated/*.md", "figures/*.md"]
