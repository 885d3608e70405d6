from __future__ import annotations

from girl.lab import depth as study
from girl.lab.tables import depth


def study_scores(datasets=("texas",), gain=0.1):
    """A study in which KR gains more the deeper the network."""
    results = []
    for name in datasets:
        for seed in range(3):
            for layers in study.DEPTHS:
                for kind, values in study.CANDIDATES.items():
                    for value in values:
                        test = 0.7 - 0.01 * layers + 0.001 * seed + (gain * layers / 18 if kind == "kr" else 0)
                        scores = {"train": 0.9, "val": 0.6 + 0.01 * (value == 1.0), "test": test}
                        method = study.method_name(kind, layers, value)
                        row = {"protocol": study.PLANS[name].protocol, "probe": "none", "metric": "accuracy", **scores}
                        results.append({"dataset": name, "method": method, "seed": seed, "rows": [row]})
                        if layers == 18 and seed == 0:
                            layer = {f"layer {i}": 0.5 for i in range(1, 19)}
                            results[-1]["observed"] = [{"epoch": 1, **layer}, {"epoch": 10, **layer}]
    return depth.DepthScores(results)


def test_findings_are_counted():
    text = depth.findings(study_scores(("texas", "cora")))
    assert "Seeds at depth 18: Texas 3 of 10, Cora 3 of 5." in text
    assert "KR is the best of the four on 2 of 2 datasets (Texas, Cora)" in text
    assert "above no regularisation by more than one standard error on 2 of 2" in text
    assert "costs at most 1 point against no regularisation on 2 of 2" in text
    assert "numbers on Texas and Actor, 0 of 3 are reached" in text
    worse = depth.findings(study_scores(("texas",), gain=-0.5))
    assert "best of the four on 0 of 1" in worse
    assert "costs at most 1 point against no regularisation on 0 of 1" in worse


def test_the_table_has_the_paper_beside_ours():
    table = depth.table_depth(study_scores())
    assert "**Texas**, `geom-gcn`, seeds: 3" in table
    assert "KR, the paper | 77.3 ± 2.3 | – | 75.7" in table
    assert "**62.10 ± 0.10**" in table


def test_the_figures_have_a_panel_for_each_dataset(tmp_path):
    scores = study_scores(("texas", "actor"))
    for draw in (depth.draw_depth, depth.draw_layers):
        text = draw(scores, tmp_path).with_suffix(".svg").read_text(encoding="utf-8")
        assert "Texas" in text
        assert "Actor" in text


def test_without_results_every_fragment_names_the_command(tmp_path):
    assert set(depth.render([], tmp_path).values()) == {"*Not computed yet: `girl reproduce depth` does it.*\n"}
    assert not list(tmp_path.iterdir())
