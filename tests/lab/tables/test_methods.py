from __future__ import annotations

from girl.lab.tables.methods import findings, render, table_cost, table_methods


def test_the_best_of_a_row_is_bold(scores):
    lines = table_methods(scores).splitlines()
    assert lines[0].startswith("| dataset, protocol | seeds | raw | untrained | girl | dgi |")
    assert " 80.10 ± 0.10 | **82.10 ± 0.10** |" in lines[2]
    assert len({line.count("|") for line in lines}) == 1


def test_findings_name_where_girl_is_first_and_where_behind(scores, method_scores):
    text = findings(scores)
    assert "first on 1 of 2 rows: Texas `geom-gcn`" in text
    assert "Behind: Cora `public` (dgi, +2.00" in text
    assert "depending on the dataset: GIRL 2 to 2, the others 2 to 2." in text
    assert "first on 2 of 2" in findings(method_scores(girl=(0.8, 0.7), dgi=(0.8, 0.7)))


def test_costs_are_means_over_seeds(scores):
    assert "| Cora | girl | its own | 10 | 0.200 | 2.0 | 0.8 | 0.50 |" in table_cost(scores)


def test_the_figure_has_a_line_for_each_method(scores, tmp_path):
    rendered = render(scores, tmp_path)
    assert "generated/methods_nodes.svg" in rendered["methods_nodes_figure"]
    text = (tmp_path / "methods_nodes.svg").read_text(encoding="utf-8")
    assert all(f">{method}</text>" in text for method in scores.methods)


def test_without_results_every_fragment_names_the_command(method_scores, tmp_path):
    rendered = render(method_scores(), tmp_path)
    assert set(rendered.values()) == {"*Not computed yet: `girl reproduce nodes --methods all` does it.*\n"}
    assert not list(tmp_path.iterdir())
