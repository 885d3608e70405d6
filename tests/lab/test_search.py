from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from girl import datasets
from girl.errors import InputError
from girl.kernel.checks import EqualRowsError
from girl.lab import search
from girl.training.loop import DivergedError
from girl.training.recipe import Recipe


@pytest.fixture(scope="module")
def texas(mirror, cache):
    return datasets.load("texas", cache, mirror)


@pytest.fixture
def quick(texas, tmp_path, monkeypatch):
    """A search on Texas whose trainings and scores cost nothing."""
    monkeypatch.setattr(search, "pretrain", lambda batch, recipe: SimpleNamespace(vectors=recipe.train.lr))
    monkeypatch.setattr(search, "validation_scores", lambda lr, *_: {"geom-gcn": 100 * lr})

    def run(trials, seeds=1):
        printed = Console(file=io.StringIO(), width=500)
        best = search.search(texas, trials, seeds, tmp_path / "texas.journal", printed)
        return best, printed.file.getvalue()

    return run


def test_validation_scores_are_fractions_for_every_protocol(texas):
    scores = search.validation_scores(texas.data.x, texas, 0)
    assert list(scores) == ["geom-gcn"]
    assert 0.4 < scores["geom-gcn"] < 1


def test_a_search_is_resumed(quick):
    _, first = quick(2)
    best, second = quick(3)
    assert [line for line in first.splitlines() if "/2" in line]
    trials = [line for line in second.splitlines() if "/3" in line]
    assert len(trials) == 1
    assert trials[0].startswith("3/3")
    # The recipes that are known are scored once, and the result is never worse than they are.
    assert first.splitlines()[:2] == second.splitlines()[:2]
    known = [float(line.split()[-1]) for line in second.splitlines()[:2]]
    assert 100 * best["score"] >= max(known) - 0.01


def test_an_interrupted_trial_is_not_counted(quick, monkeypatch):
    pretrain, calls = search.pretrain, []

    def interrupted(batch, recipe):
        calls.append(recipe)
        if len(calls) == 4:  # two known recipes and one trial are done
            raise KeyboardInterrupt
        return pretrain(batch, recipe)

    monkeypatch.setattr(search, "pretrain", interrupted)
    with pytest.raises(KeyboardInterrupt):
        quick(2)
    quick(2)
    assert len(calls) == 5


def test_shipped_recipes_are_scored_as_they_are(quick, monkeypatch):
    scored = []
    monkeypatch.setattr(search, "pretrain", lambda batch, recipe: scored.append(recipe) or SimpleNamespace(vectors=0.1))
    best, _ = quick(1)
    assert scored[:2] == [Recipe.load("texas"), Recipe.encoder_default()]
    assert best["recipe"] == Recipe.load("texas").to_dict()  # the first of equals


@pytest.mark.parametrize("failure", [DivergedError("lower lr"), EqualRowsError("x: all rows are equal")])
def test_a_training_that_fails_scores_zero(failure, quick, monkeypatch):
    def fail(batch, recipe):
        raise failure

    monkeypatch.setattr(search, "pretrain", fail)
    best, _ = quick(1)
    assert best["score"] == 0
    assert best["failure"] == str(failure)


def test_settings_that_contradict_each_other_score_zero(texas):
    settings = {"targets": "features", "hidden": 30, "heads": 4, "conv": "gat"}
    with pytest.raises(InputError):
        search._recipe(settings)
    assert search._scored(texas, settings, 1)["score"] == 0


@pytest.mark.parametrize("error", [ValueError("a mistake in the program"), InputError("x: no node features")])
def test_any_other_error_ends_the_search(error, quick, monkeypatch):
    def fail(batch, recipe):
        raise error

    monkeypatch.setattr(search, "pretrain", fail)
    with pytest.raises(type(error), match=str(error)):
        quick(1)


def test_a_journal_of_other_options_is_refused(quick):
    quick(1)
    with pytest.raises(InputError, match="expected .*'seeds': 1"):
        quick(2, seeds=2)


@pytest.mark.parametrize("name", ["texas", "physics", "usa-airports"])
def test_a_recipe_file_gives_the_recipe_back(name, tmp_path):
    (tmp_path / "best.toml").write_text(search.toml_of(Recipe.load(name)))
    assert Recipe.load(str(tmp_path / "best.toml")) == Recipe.load(name)
    assert search.toml_of(Recipe.encoder_default()).count("\n") == 3
