from __future__ import annotations

import pytest

from girl.lab import search
from girl.training.recipe import Recipe


@pytest.mark.slow
def test_the_best_recipe_is_written_and_the_search_is_resumed(girl, monkeypatch):
    monkeypatch.setattr(search, "SPACE", search.SPACE | {"epochs": (1,), "conv": ("mlp",)})
    first = girl("search", "texas", "--trials", "1", "--out", "found")
    assert first.returncode == 0, first.stderr
    assert "best validation: geom-gcn" in first.stdout
    assert Recipe.load(str(girl.folder / "found/search/texas.toml"))
    assert (girl.folder / "found/search/texas.journal").exists()
    again = girl("search", "texas", "--trials", "2", "--out", "found").stdout
    assert "2/2" in again
    assert "1/2" not in again


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["texas", "--trials", "0"], "--trials: given 0"), (["mutag"], "expected one of the node tables")],
)
def test_a_mistake_is_one_line_and_exit_code_2(girl, arguments, words):
    done = girl("search", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
