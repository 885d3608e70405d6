"""The content of a report, before it is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from girl.errors import InputError
from girl.evaluation.quality import Quality
from girl.methods.choice import Choice


@dataclass(frozen=True)
class ReportData:
    """Everything that a report shows, about n nodes or about the n graphs of a set."""

    title: str
    facts: dict[str, int | float | str]
    """Facts about the data, in order."""
    notes: list[str]
    """What the user should know about the data."""
    ids: pl.Series
    """The ids of the nodes or graphs; its name is the name of the id column."""
    embedding: NDArray[np.float32]
    """n × k."""
    edge_index: NDArray[np.int64] | None
    """2 × m; None if the rows are graphs."""
    columns: pl.DataFrame
    """The user's columns, n rows, to colour the map by and to read."""
    label: str | None
    """The name of the label column, if there is one."""
    history: list[dict[str, float]]
    """ρ̂ of each layer in each epoch."""
    quality: Quality
    settings: dict[str, Any]
    """The recipe."""
    embeddings: Path
    """The file that holds the embedding."""
    sizes: dict[str, NDArray[np.int64]] | None = None
    """For graphs, the number of ``nodes`` and ``edges`` of each (n)."""
    choice: Choice | None = None
    """Which bands were chosen for the graph, and why; None if an encoder was trained."""

    def __post_init__(self) -> None:
        n = len(self.ids)
        if not n:
            raise InputError("report: given no nodes, expected at least one")
        if (self.edge_index is None) != (self.sizes is not None):
            raise InputError("report: expected either edge_index (for nodes) or sizes (for graphs)")
        if self.embedding.ndim != 2 or len(self.embedding) != n:
            raise InputError(f"embedding: given shape {self.embedding.shape}, expected {n:,} rows, one for each id")
        if self.columns.width and self.columns.height != n:
            raise InputError(f"columns: given {self.columns.height:,} rows, expected {n:,}, one for each id")
        if self.label is not None and self.label not in self.columns.columns:
            raise InputError(f"label: given {self.label!r}, expected one of {', '.join(self.columns.columns)}")

    @property
    def usage(self) -> str:
        """Lines of Python that read the embedding."""
        name, unit, column = self.embeddings.name, self.quality.unit, self.ids.name or "id"
        match self.embeddings.suffix.lower():
            case ".npy":
                return f'import numpy as np\nvectors = np.load("{name}")  # a row for each {unit}'
            case ".h5ad":
                return f'import anndata\n{unit}s = anndata.read_h5ad("{name}")\nvectors = {unit}s.obsm["X_girl"]'
            case suffix:
                read = {".parquet": "read_parquet", ".csv": "read_csv", ".tsv": "read_csv"}[suffix]
                separator = ', separator="\\t"' if suffix == ".tsv" else ""
                return (
                    f'import polars as pl\ntable = pl.{read}("{name}"{separator})\n'
                    f'ids, vectors = table["{column}"], table.drop("{column}").to_numpy()'
                )
