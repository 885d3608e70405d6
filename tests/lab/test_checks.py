from __future__ import annotations

import pytest

from girl import splits
from girl.errors import InputError
from girl.lab import checks, graphs, nodes
from girl.lab.cells import Cell
from girl.lab.tables.checks import table_checks


def test_every_method_has_a_number_to_come_close_to():
    known = checks.published()
    assert {one.method for one in known} == {*nodes.peers(), *graphs.peers()}
    for one in known:
        assert (one.protocol == "10-fold") == (one.dataset in graphs.DATASETS)
        assert splits.get(one.protocol).name == one.protocol
        assert one.source
    made = checks.cells([], 2)
    assert len({cell.key for cell in made}) == len(made) == 2 * len(known)
    # Without the comparison's limit of time: the published recipe runs to its end.
    assert all(not (cell.recipe or {})["train"]["time_limit"] for cell in made)
    assert {cell.method for cell in checks.cells(["dgi"], 1)} == {"dgi"}
    with pytest.raises(InputError, match="given 'dig', expected one of dgi"):
        checks.cells(["dig"], 1)
    (only,) = checks.cells(["graphmae"], 1, ["mutag"])
    assert (only.method, only.dataset) == ("graphmae", "mutag")
    with pytest.raises(InputError, match="given 'coral', expected one of cora"):
        checks.cells([], 1, ["coral"])
    with pytest.raises(InputError, match="dgi on texas, published are dgi on cora"):
        checks.cells(["dgi"], 1, ["texas"])


@pytest.mark.parametrize(
    ("dataset", "method", "probe"),
    [("texas", "selene", "linear"), ("mutag", "graphcl", "svm"), ("cora", "bgcl", "linear")],
)
def test_a_cell_on_real_data_stands_in_the_table(dataset, method, probe, mirror, cache):
    (cell,) = checks.cells([method], 1)
    assert cell.dataset == dataset
    small = {**cell.recipe, "train": {**cell.recipe["train"], "epochs": 1}}
    cell = Cell(dataset, method, 0, small)
    found = checks.Compute(cache, mirror)(cell)
    assert {row["probe"] for row in found["rows"]} == {probe}
    (published,) = [one for one in checks.published() if (one.dataset, one.method) == (dataset, method)]
    assert published.protocol in {row["protocol"] for row in found["rows"]}
    row = {"dataset": dataset, "method": method, "seed": 0, "recipe": small, **found}
    lines = table_checks([row], checks.published()).splitlines()
    assert len(lines) == 3
    assert lines[2].startswith(f"| {method} |")


def test_the_table_tells_who_is_not_close():
    def cell(method, value):
        row = {"protocol": "public", "probe": "linear", "test": value, "val": value}
        return {"dataset": "cora", "method": method, "seed": 0, "rows": [row]}

    found = table_checks([cell("dgi", 0.83), cell("ggd", 0.80), cell("cca-ssg", 0.87)], checks.published())
    dgi, cca, ggd = found.splitlines()[2:]
    assert "| 83.0 | 1 | 82.3 ± 0.6 | +0.7 | yes |" in dgi
    assert "| -3.9 | **no** |" in ggd
    assert "| +2.8 | above |" in cca
    assert "Not computed yet" in table_checks([], checks.published())
