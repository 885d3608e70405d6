from __future__ import annotations

from girl.lab.tables.bench_sparse import findings, table_eigenvectors, table_products

CASE = {"graph": "g", "nodes": 1000, "entries": 9, "width": 16, "threads": 1}
RESULT = {
    "statistic": "minimum of 3 repetitions",
    "load": [1.0, 1.0, 1.0],
    "rows": [
        CASE | {"method": "scipy", "forward": 0.001, "backward": 0.002},
        CASE | {"method": "torch", "forward": 0.002, "backward": 0.0025},
        CASE | {"method": "pyg", "forward": 0.01, "backward": 0.02},
    ],
    "eigenvectors": [{"graph": "g", "nodes": 1000, "method": "girl", "seconds": 2.04, "quality": 0.95}],
    "provenance": {"processor": "a processor", "commit": "abc"},
}


def test_a_row_has_both_passes_of_every_method():
    assert "| g (1,000 nodes) | 16 | 1 | 1.0 + 2.0 | 2.0 + 2.5 | 10.0 + 20.0 |" in table_products(RESULT)
    assert "| g (1,000 nodes) | girl | 2.0 s | 0.950 |" in table_eigenvectors(RESULT)


def test_our_product_is_compared_with_the_fastest_other():
    assert "takes 0.67 to 0.67 times as long" in findings(RESULT)
    assert "minimum of 3 repetitions, at a load of 1 processes; a processor, commit abc" in findings(RESULT)
