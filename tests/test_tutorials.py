"""Every tutorial runs as it stands: its blocks in order, in one folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("page", ["own_graph", "pyg_loop", "researcher"])
def test_tutorial(page, snippet, mirror, cache, monkeypatch):
    blocks = re.findall(r"```(sh|python)\n(.*?)```", (DOCS / f"{page}.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) >= 3
    monkeypatch.setenv("GIRL_DATA", str(cache))
    monkeypatch.setenv("GIRL_MIRROR", str(mirror))
    for language, code in blocks:
        snippet(language, code)
