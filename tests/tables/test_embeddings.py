from __future__ import annotations

import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from girl.errors import InputError
from girl.tables.embeddings import OUTPUTS, embedding_table, ids_path, write_embeddings


def read(path):
    """Ids and numbers of a file, as a user would read them."""
    match path.suffix:
        case ".parquet":
            table = pl.read_parquet(path)
        case ".csv" | ".tsv":
            # Text ids that look like numbers need the type: CSV does not keep it.
            table = pl.read_csv(
                path, separator="," if path.suffix == ".csv" else "\t", schema_overrides={"id": pl.String}
            )
        case ".npy":
            ids = pl.read_csv(ids_path(path), schema_overrides={"id": pl.String})["id"]
            return ids.to_list(), np.load(path)
        case _:
            import anndata

            annotated = anndata.read_h5ad(path)
            return list(annotated.obs_names), annotated.obsm["X_girl"]
    return table["id"].cast(pl.String).to_list(), table.drop("id").to_numpy()


@pytest.mark.parametrize("suffix", OUTPUTS)
@pytest.mark.parametrize("kind", [np.float32, np.float16])
@settings(max_examples=5, deadline=None)
@given(words=st.booleans(), seed=st.integers(0, 9))
def test_written_embeddings_are_read_back(suffix, kind, words, seed, tmp_path_factory):
    vectors = np.random.default_rng(seed).normal(size=(4, 3)).astype(kind)
    ids = pl.Series("id", ["a,b", 'quo"te', "ü", "7"] if words else [7, -1, 10**12, 0])
    table = pl.DataFrame(
        {"id": ids, "age": [1, None, 3, 4], "is": [True, None, False, True], "l": [[1], [], None, [2]]}
    )
    path = tmp_path_factory.mktemp("out") / f"e{suffix}"
    write_embeddings(path, ids, vectors, table)
    read_ids, read_vectors = read(path)
    assert read_ids == ids.cast(pl.String).to_list()
    assert np.array_equal(read_vectors.astype(kind), vectors)
    assert {p.name for p in path.parent.iterdir()} <= {path.name, "e.ids.csv"}


def test_integer_ids_stay_integers(tmp_path):
    write_embeddings(tmp_path / "e.parquet", pl.Series("user", [3, 1]), np.zeros((2, 2), np.float32))
    table = pl.read_parquet(tmp_path / "e.parquet")
    assert table["user"].to_list() == [3, 1]
    assert table.columns == ["user", "e0", "e1"]


def test_an_id_column_named_like_a_dimension_is_renamed():
    assert embedding_table(pl.Series("e0", [1]), np.zeros((1, 2), np.float32)).columns == ["id", "e0", "e1"]


def test_paths_that_cannot_be_written_are_errors(tmp_path):
    one = pl.Series("id", [1]), np.zeros((1, 1), np.float32)
    with pytest.raises(InputError, match=r"ending in '.xlsx', expected one of .parquet"):
        write_embeddings(tmp_path / "e.xlsx", *one)
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        write_embeddings(tmp_path / "d.csv", *one)


def test_h5ad_without_anndata_names_the_package_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(InputError, match=r"pip install 'girl\[anndata\]'"):
        write_embeddings(tmp_path / "e.h5ad", pl.Series("id", [1]), np.zeros((1, 1), np.float32))
