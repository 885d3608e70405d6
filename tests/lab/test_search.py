from __future__ import annotations

import io
import json

import pytest
import torch
from rich.console import Console

from girl import datasets, splits
from girl.lab import search
from girl.training.recipe import Recipe


@pytest.fixture(scope="module")
def texas(mirror, cache):
    return datasets.load("texas", cache, mirror)


@pytest.mark.parametrize(("name", "protocol"), [("cora", "public"), ("cora", "full"), ("texas", "geom-gcn")])
def test_no_test_node_takes_part_in_a_choice(name, protocol, mirror, cache):
    dataset = datasets.load(name, cache, mirror)
    test = set(splits.get(protocol).split(dataset, 0).test.tolist())
    for split in search.judging_splits(dataset, protocol, 0):
        nodes = torch.cat([split.train, split.val, split.test])
        assert not test & set(nodes.tolist())
        assert not set(split.train.tolist()) & set(split.val.tolist())


def test_a_search_goes_on_where_it_stopped(texas, tmp_path, monkeypatch):
    monkeypatch.setattr(search, "SPACE", search.SPACE | {"epochs": (1,), "conv": ("mlp",)})
    out, console = tmp_path / "texas.json", Console(file=io.StringIO())
    search.search(texas, 2, 1, out, console)
    first = json.loads(out.read_text())["trials"]
    best = search.search(texas, 3, 1, out, console)
    trials = json.loads(out.read_text())["trials"]
    assert trials[:2] == first
    assert len(trials) == 3
    known = json.loads(out.read_text())["known"]
    assert best["score"] == max(trial["score"] for trial in (*trials, *known.values()))
    # What is shipped is judged as it is, not as the nearest point of the space.
    assert known["shipped"]["recipe"] == Recipe.load("texas").to_dict()


@pytest.mark.parametrize("name", ["texas", "physics", "usa-airports"])
def test_a_recipe_file_says_what_was_chosen(name, tmp_path):
    (tmp_path / "best.toml").write_text(search.toml_of(Recipe.load(name)))
    assert Recipe.load(str(tmp_path / "best.toml")) == Recipe.load(name)
    assert search.toml_of(Recipe()).count("\n") == 1
