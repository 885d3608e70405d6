"""Embeddings as files: a row for each node, with its id as it was given."""

from __future__ import annotations

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
    """Raise an error for a path that cannot be written to, before any work is done."""
    if path.suffix.lower() not in OUTPUTS:
        raise InputError(f"{path}: given a file ending in {path.suffix!r}, expected one of {', '.join(OUTPUTS)}")
    if path.is_dir():
        raise InputError(f"{path}: is a folder, expected the name of a file")
    if path.suffix.lower() == ".h5ad":
        _anndata()


def ids_path(path: Path) -> Path:
    """The file with the ids of an array: ``embeddings.ids.csv`` beside ``embeddings.npy``."""
    return path.with_suffix(".ids.csv")


def embedding_table(ids: pl.Series, vectors: NDArray[Any]) -> pl.DataFrame:
    """The id, and a column for each dimension: e0, e1 and so on."""
    columns = [f"e{i}" for i in range(vectors.shape[1])]
    name = "id" if ids.name in ("", *columns) else ids.name
    return pl.DataFrame(vectors, schema=columns).insert_column(0, ids.alias(name))


def write_embeddings(path: Path, ids: pl.Series, vectors: NDArray[Any], table: pl.DataFrame | None = None) -> None:
    """Write ``vectors`` (n × k) with their ``ids``; no partial file is left if it fails.

    Args:
        path: ``.parquet``, ``.csv`` and ``.tsv`` hold a column for the id and one for each dimension; ``.npy`` holds
            the numbers, with the ids in a file beside it; ``.h5ad`` holds an AnnData with the numbers in
            ``obsm["X_girl"]`` and ``table`` in ``obs``.
        ids: n ids.
        vectors: float32 or float16.
        table: other columns of the nodes.
    """
    check_output(path)
    suffix = path.suffix.lower()
    if suffix == ".npy":
        with replacing(ids_path(path)) as temporary:
            ids.to_frame(ids.name or "id").write_csv(temporary)
    with replacing(path) as temporary:
        match suffix:
            case ".parquet":
                embedding_table(ids, vectors).write_parquet(temporary)
            case ".csv" | ".tsv":
                embedding_table(ids, vectors).write_csv(temporary, separator="," if suffix == ".csv" else "\t")
            case ".npy":
                with temporary.open("wb") as file:
                    np.save(file, vectors)
            case _:
                # Strings of pandas' own type, which anndata reads since 0.11.
                with _anndata().settings.override(allow_write_nullable_strings=True):
                    _to_anndata(ids, vectors, table).write_h5ad(temporary)


def read_embeddings(path: Path) -> tuple[pl.Series, NDArray[Any]]:
    """The ids and the vectors of a file that :func:`write_embeddings` wrote."""
    check_output(path)
    match path.suffix.lower():
        case ".npy":
            return pl.read_csv(ids_path(path)).to_series(0), np.load(path, allow_pickle=False)
        case ".h5ad":
            annotated = _anndata().read_h5ad(path)
            return pl.Series("id", list(annotated.obs_names)), np.asarray(annotated.obsm["X_girl"])
        case ".parquet":
            table = pl.read_parquet(path)
        case suffix:
            table = pl.read_csv(path, separator="," if suffix == ".csv" else "\t")
    return table.to_series(0), table[:, 1:].to_numpy()


def _to_anndata(ids: pl.Series, vectors: NDArray[Any], table: pl.DataFrame | None) -> Any:
    """An AnnData. It has no dates, lists or missing booleans: these are written as text."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for column in () if table is None else table:
        if column.dtype.is_numeric():
            columns[column.name] = column.cast(pl.Float64).to_numpy()
        elif column.dtype.is_nested():
            columns[column.name] = pd.Categorical([None if v is None else str(v.to_list()) for v in column])
        else:
            columns[column.name] = pd.Categorical(column.cast(pl.String).to_list())
    columns.pop(ids.name, None)
    obs = pd.DataFrame(columns, index=ids.cast(pl.String).to_list())
    return _anndata().AnnData(obs=obs, obsm={"X_girl": vectors})


def _anndata() -> Any:
    try:
        import anndata
    except ImportError as error:
        raise InputError(".h5ad files need the package anndata: pip install 'girl[anndata]'") from error
    return anndata
