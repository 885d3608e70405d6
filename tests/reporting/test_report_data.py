from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from girl.errors import InputError
from girl.tables import write_embeddings
from tests.helpers.reports import make_report, make_set_report


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv", ".npy", ".h5ad"])
def test_the_usage_lines_read_the_embedding(suffix, tmp_path, monkeypatch):
    report = replace(make_report(), embeddings=tmp_path / f"vectors{suffix}")
    write_embeddings(report.embeddings, report.ids, report.embedding, report.columns.select("age"))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(ast.parse(report.usage), "usage", "exec"), names)
    assert np.allclose(names["vectors"], report.embedding, atol=1e-6)
    if suffix in (".parquet", ".csv", ".tsv"):
        assert names["ids"].to_list() == report.ids.to_list()


def test_the_usage_lines_of_a_set_speak_of_graphs():
    assert "a row for each graph" in replace(make_set_report(), embeddings=Path("e.npy")).usage


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edge_index": None}, "either edge_index"),
        ({"ids": pl.Series("id", [])}, "no nodes"),
        ({"ids": pl.Series("id", ["a", "b"])}, "expected 2 rows"),
        ({"columns": pl.DataFrame({"team": ["red"]})}, "given 1 rows, expected 90"),
        ({"label": "colour"}, "given 'colour', expected one of team"),
    ],
)
def test_errors_name_the_field(change, message):
    with pytest.raises(InputError, match=message):
        replace(make_report(), **change)
