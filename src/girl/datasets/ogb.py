"""The raw files of an OGB node dataset: gzipped CSV without headers.

The ``ogb`` package is not used: it asks questions on standard input, looks for its newest version on the network, and
loads its own cache in a way that torch 2.6 refuses.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import index_to_mask

from girl.datasets.dataset import Masks


def read_ogb(folder: Path, split: str, inverse: bool) -> tuple[Data, Masks]:
    """The graph below ``folder`` and its ``split``, as in ``ogb``; ``inverse`` adds the inverse of each edge."""
    nodes = int(_numbers(folder / "raw/num-node-list.csv.gz", pl.Int64)[0, 0])
    edges = _numbers(folder / "raw/edge.csv.gz", pl.Int64)
    edge_index = torch.from_numpy(np.ascontiguousarray(edges.T))
    if inverse:
        # An edge is followed by its inverse, as in ogb.
        edge_index = torch.stack([edge_index, edge_index.flip(0)], dim=2).view(2, -1)
    x = torch.from_numpy(np.ascontiguousarray(_numbers(folder / "raw/node-feat.csv.gz", pl.Float32)))
    y = torch.from_numpy(_numbers(folder / "raw/node-label.csv.gz", pl.Float64)[:, 0])
    y = torch.where(y.isnan(), -1.0, y).long()
    names = (folder / "split" / split / f"{name}.csv.gz" for name in ("train", "valid", "test"))
    train, valid, test = (_mask(path, nodes) for path in names)
    return Data(x=x, edge_index=edge_index, y=y), (train, valid, test)


def _numbers(path: Path, dtype: type[pl.DataType]) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    width = pl.read_csv(path, has_header=False, n_rows=1).width
    table = pl.read_csv(path, has_header=False, schema={f"column_{i}": dtype for i in range(width)})
    return table.to_numpy(writable=True)


def _mask(path: Path, nodes: int) -> Tensor:
    return index_to_mask(torch.from_numpy(_numbers(path, pl.Int64)[:, 0]), nodes).view(-1, 1)
