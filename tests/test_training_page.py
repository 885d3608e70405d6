from __future__ import annotations

import re
from pathlib import Path

from girl import Recipe

ROOT = Path(__file__).parents[1]


def test_the_python_of_the_training_page_runs(snippet):
    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    snippet("python", code)


def test_the_recipes_of_the_training_page_are_recipes(tmp_path):
    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    found = re.findall(r"```(toml|yaml)\n(.*?)```", page, flags=re.DOTALL)
    assert len(found) == 2
    for kind, text in found:
        path = tmp_path / f"recipe.{kind}"
        path.write_text(text, encoding="utf-8")
        assert Recipe.load(path).train.epochs == 40
