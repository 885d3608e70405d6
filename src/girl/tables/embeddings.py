"""Embeddings as files: a row for each node, its id as it was given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from girl.errors import InputError
from girl.files import replacing

#: The kinds of file, by suffix.
OUTPUTS = (".parquet", ".csv", ".tsv", ".npy", ".h5ad")


def check_output(path: Path) -> None:
    """Complain about a file that could not be written, before any work is done."""
    if path.suffix.lower() not in OUTPUTS:
        raise InputError(f"{path}: given a file ending in {path.suffix!r}, expected one of {', '.join(OUTPUTS)}")
    if path.is_dir():
        raise InputError(f"{path}: is a folder, expected the name of a file")
    if path.suffix.lower() == ".h5ad":
        _anndata()


def ids_beside(path: Path) -> Path:
    """Where the ids of an array go: ``embeddings.npy`` has ``embeddings.ids.csv`` beside it."""
    return path.with_suffix(".ids.csv")


def as_table(ids: pl.Series, vectors: NDArray[Any]) -> pl.DataFrame:
    """The id, and a column for each dimension: e0, e1 and so on."""
    name = ids.name or "id"
    columns = [f"e{i}" for i in range(vectors.shape[1])]
    if name in columns:
        name = "id"
    return pl.DataFrame(vectors, schema=columns).insert_column(0, ids.alias(name))


def write_embeddings(path: Path, ids: pl.Series, vectors: NDArray[Any], table: pl.DataFrame | None = None) -> None:
    """Write ``vectors`` (n × k) with their ``ids``, whole or not at all; the suffix says as what.

    Args:
        path: ``.parquet``, ``.csv`` and ``.tsv`` hold a column for the id and one for each dimension; ``.npy`` the
            numbers, with the ids in a file beside it; ``.h5ad`` an AnnData with the numbers in ``obsm["X_girl"]`` and
            ``table`` in ``obs``.
        ids: n ids.
        vectors: float32 or float16.
        table: what is known about the nodes.
    """
    check_output(path)
    match path.suffix.lower():
        case ".parquet":
            _whole(path, as_table(ids, vectors).write_parquet)
        case ".csv" | ".tsv" as suffix:
            made, separator = as_table(ids, vectors), "," if suffix == ".csv" else "\t"
            _whole(path, lambda beside: made.write_csv(beside, separator=separator))
        case ".npy":
            _whole(ids_beside(path), ids.alias(ids.name or "id").to_frame().write_csv)
            with replacing(path) as beside, beside.open("wb") as file:
                np.save(file, vectors)
        case _:
            # pandas' own kind of strings, which anndata reads since 0.11.
            with _anndata().settings.override(allow_write_nullable_strings=True):
                _whole(path, _annotated(ids, vectors, table).write_h5ad)


def read_embeddings(path: Path) -> tuple[pl.Series, NDArray[Any]]:
    """The ids and the numbers of a file that :func:`write_embeddings` wrote."""
    check_output(path)
    match path.suffix.lower():
        case ".npy":
            return pl.read_csv(ids_beside(path)).to_series(0), np.load(path, allow_pickle=False)
        case ".h5ad":
            found = _anndata().read_h5ad(path)
            return pl.Series("id", list(found.obs_names)), np.asarray(found.obsm["X_girl"])
        case ".parquet":
            table = pl.read_parquet(path)
        case suffix:
            table = pl.read_csv(path, separator="," if suffix == ".csv" else "\t")
    return table.to_series(0), table[:, 1:].to_numpy()


def _whole(path: Path, write: Callable[[Path], object]) -> None:
    with replacing(path) as beside:
        write(beside)


def _annotated(ids: pl.Series, vectors: NDArray[Any], table: pl.DataFrame | None) -> Any:
    """An AnnData of numbers and words: it knows no dates, lists or missing truths, which go in as words."""
    import pandas as pd

    columns = {
        c.name: c.cast(pl.Float64).to_numpy() if c.dtype.is_numeric() else pd.Categorical(_words(c))
        for c in (table if table is not None else pl.DataFrame())
        if c.name != ids.name
    }
    obs = pd.DataFrame(columns, index=ids.cast(pl.String).to_list())
    return _anndata().AnnData(obs=obs, obsm={"X_girl": vectors})


def _words(column: pl.Series) -> list[str | None]:
    if column.dtype.is_nested():
        return [None if value is None else str(value.to_list()) for value in column]
    return column.cast(pl.String).to_list()


def _anndata() -> Any:
    try:
        import anndata
    except ImportError as error:
        raise InputError(".h5ad files need the package anndata: pip install 'girl[anndata]'") from error
    return anndata
