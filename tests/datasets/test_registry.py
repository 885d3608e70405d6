from __future__ import annotations

import pytest

from girl import datasets
from girl.datasets.registry import DATASETS, find
from girl.errors import InputError


@pytest.mark.parametrize(
    "name", ["CORA", "ogbn_arxiv", "OGBN-Products", "USA_Airports", "wiki-cs", "squirrel_filtered"]
)
def test_case_dashes_and_underscores_of_a_name_do_not_matter(name):
    assert datasets.describe(name) is find(name)
    assert find(name).name in DATASETS


@pytest.mark.parametrize(("name", "close"), [("koora", "cora"), ("redit", "reddit"), ("arxiv", "ogbn-arxiv")])
def test_an_unknown_name_gets_its_close_matches(name, close):
    with pytest.raises(InputError, match=f"{name}.*did you mean.*{close}.*girl datasets"):
        find(name)


def test_a_name_like_no_other_gets_the_list():
    with pytest.raises(InputError, match="qqqq: no dataset of that name; `girl datasets`"):
        find("qqqq")


def test_every_dataset_has_protocols_and_all_but_the_digits_have_files():
    for entry in DATASETS.values():
        assert entry.protocols
        assert bool(entry.files) == bool(entry.folder) == (entry.name != "digits")
        assert bool(entry.splits_files) == bool(entry.splits_folder)


def test_two_unequal_classes_are_scored_by_auc():
    assert [entry.name for entry in DATASETS.values() if entry.metric != "accuracy"] == ["minesweeper", "tolokers"]
    assert all(entry.classes == 2 and not entry.multilabel for entry in DATASETS.values() if entry.metric == "AUC")
