"""Every tutorial runs as it stands: its blocks in order, in one folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


@pytest.mark.parametrize("page", ["own_graph", "pyg_loop", "researcher"])
def test_tutorial(page, tmp_path, mirror, cache):
    blocks = re.findall(r"```(sh|python)\n(.*?)```", (DOCS / f"{page}.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) >= 3
    environment = os.environ | {"PATH": PATH, "GIRL_DATA": str(cache), "GIRL_MIRROR": str(mirror)}
    for language, code in blocks:
        command = ["sh", "-ec", code] if language == "sh" else [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
