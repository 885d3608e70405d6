from __future__ import annotations

from girl.lab import depth as study
from girl.lab.tables import depth


def made(datasets=("texas",), gain=0.1):
    """A study in which KR gains more the deeper the network."""
    cells = []
    for name in datasets:
        for seed in range(3):
            for layers in study.DEPTHS:
                for kind, values in study.CANDIDATES.items():
                    for value in values:
                        test = 0.7 - 0.01 * layers + 0.001 * seed + (gain * layers / 18 if kind == "kr" else 0)
                        scores = {"train": 0.9, "val": 0.6 + 0.01 * (value == 1.0), "test": test}
                        one = study.cell(name, kind, layers, value, seed)
                        row = {"protocol": study.PLANS[name].protocol, "probe": "none", "metric": "accuracy", **scores}
                        cells.append(vars(one) | {"rows": [row]})
                        if layers == 18 and seed == 0:
                            layer = {f"layer {i}": 0.5 for i in range(1, 19)}
                            cells[-1]["observed"] = [{"epoch": 1, **layer}, {"epoch": 10, **layer}]
    return depth.DepthScores(cells)


def test_the_facts_are_counted():
    found = made(("texas", "cora"))
    facts = depth.facts(found)
    assert "Seeds at depth 18: Texas 3 of 10, Cora 3 of 5." in facts
    assert "KR is the best of the four on 2 of 2 datasets (Texas, Cora)" in facts
    assert "above no regularisation by more than one standard error on 2 of 2" in facts
    assert "costs at most 1 point against no regularisation on 2 of 2" in facts
    assert "numbers on Texas and Actor, 0 of 3 are reached" in facts
    worse = depth.facts(made(("texas",), gain=-0.5))
    assert "best of the four on 0 of 1" in worse
    assert "costs at most 1 point against no regularisation on 0 of 1" in worse


def test_the_table_has_the_paper_beside_ours():
    table = depth.table_depth(made())
    assert "**Texas**, `geom-gcn`, seeds: 3" in table
    assert "KR, the paper | 77.3 ± 2.3 | – | 75.7" in table
    assert "**62.10 ± 0.10**" in table


def test_the_figures_are_drawn(tmp_path):
    found = made(("texas", "actor"))
    for draw in (depth.draw_depth, depth.draw_watched):
        assert draw(found, tmp_path).stat().st_size > 10_000


def test_without_results_nothing_is_drawn(tmp_path):
    found = depth.DepthScores([])
    assert depth.draw_depth(found, tmp_path) is None
    assert depth.draw_watched(found, tmp_path) is None
    assert "girl reproduce depth" in depth.facts(found)
    assert depth.table_depth(found) == depth.NOT_YET
