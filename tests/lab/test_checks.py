from __future__ import annotations

import pytest

from girl import splits
from girl.errors import InputError
from girl.lab.cells import Cell
from girl.lab.checks import PUBLISHED, Checks
from girl.lab.graphs import DATASETS as GRAPH_SETS
from girl.lab.graphs import Graphs
from girl.lab.nodes import Nodes


def test_every_method_has_a_published_number_with_its_source():
    assert {one.method for one in PUBLISHED} == {*Nodes().peers, *Graphs().peers}
    for one in PUBLISHED:
        assert (one.protocol == "10-fold") == (one.dataset in GRAPH_SETS)
        assert splits.get(one.protocol).name == one.protocol
        assert one.source


def test_published_recipes_run_without_a_limit_of_time():
    cells = Checks(seeds=2).cells()
    assert len(cells) == 2 * len(PUBLISHED)
    assert all(not cell.recipe["train"]["time_limit"] for cell in cells)


def test_methods_and_datasets_can_be_chosen():
    assert {cell.method for cell in Checks(methods=("dgi",)).checked().cells()} == {"dgi"}
    (cell,) = Checks(methods=("graphmae",), datasets=("mutag",), seeds=1).checked().cells()
    assert (cell.method, cell.dataset) == ("graphmae", "mutag")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"methods": ("dig",)}, "given 'dig', expected one of dgi"),
        ({"datasets": ("citeseer",)}, "given 'citeseer', expected one of cora"),
        ({"methods": ("dgi",), "datasets": ("texas",)}, "dgi on texas, published are dgi on cora"),
    ],
)
def test_a_mistake_says_what_can_be_checked(options, words):
    with pytest.raises(InputError, match=words):
        Checks(**options).checked()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dataset", "method", "probe"),
    [("texas", "selene", "linear"), ("mutag", "graphcl", "svm"), ("cora", "bgcl", "linear")],
)
def test_a_cell_is_scored_under_the_protocol_of_the_paper(dataset, method, probe, mirror, cache):
    checks = Checks(methods=(method,), seeds=1, data_root=cache, mirror=mirror)
    (cell,) = checks.cells()
    small = {**cell.recipe, "train": {**cell.recipe["train"], "epochs": 1}}
    result = checks.compute(Cell(dataset, method, 0, small))
    assert {row["probe"] for row in result["rows"]} == {probe}
    (published,) = [one for one in PUBLISHED if (one.dataset, one.method) == (dataset, method)]
    assert published.protocol in {row["protocol"] for row in result["rows"]}
