"""The .mat graphs of Facebook100, with features as CSR. ``scipy.io.loadmat`` runs no code from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from girl.kernel.sparse import to_csr_or_dense

#: The column of ``local_info`` with the gender: 1, 2, or 0 if unknown.
GENDER = 1


def read_facebook(path: Path) -> Data:
    """As ``torch_geometric.datasets.LINKXDataset``, with features as CSR.

    The label is the gender, -1 if unknown. Every other column is one-hot encoded, 0 (unknown) like any other value;
    ``column_group`` (d) is the number of the original column, gender not counted.
    """
    with path.open("rb") as file:
        content = scipy.io.loadmat(file, variable_names=["A", "local_info"])
    adjacency = content["A"].tocsr().tocoo()
    table = content["local_info"].astype(np.int64)
    columns: list[NDArray[np.int64]] = []
    sizes: list[int] = []
    for column in np.delete(table, GENDER, axis=1).T:
        values, position = np.unique(column, return_inverse=True)
        columns.append(position + sum(sizes))
        sizes.append(len(values))
    ones = np.ones(len(table) * len(columns), np.float32)
    starts = np.arange(0, len(ones) + 1, len(columns))
    x = scipy.sparse.csr_matrix((ones, np.stack(columns, 1).ravel(), starts), (len(table), sum(sizes)))
    return Data(
        x=to_csr_or_dense(x),
        edge_index=torch.from_numpy(np.stack([adjacency.row, adjacency.col])).long(),
        y=torch.from_numpy(table[:, GENDER] - 1),
        column_group=torch.repeat_interleave(torch.tensor(sizes)),
    )
