"""The .npz graphs of CitationFull, Amazon and Coauthor, and of Platonov et al. (2023), with features as CSR.

torch_geometric's own ``read_npz`` makes the features dense first: 1.2 GB for Physics, of which 0.4 % are not zero.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse
import torch
from torch_geometric.data import Data
from torch_geometric.utils import remove_self_loops, to_undirected

from girl.datasets.dataset import Masks
from girl.kernel.sparse import to_csr_or_dense


def read_npz(path: Path) -> Data:
    """As ``torch_geometric.io.read_npz`` (binary features, undirected, no self-loops), with features as CSR."""
    # Opened here: numpy leaves the file open if it is a damaged archive.
    with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
        x = scipy.sparse.csr_matrix(
            (file["attr_data"], file["attr_indices"], file["attr_indptr"]), tuple(file["attr_shape"])
        )
        adjacency = scipy.sparse.csr_matrix(
            (file["adj_data"], file["adj_indices"], file["adj_indptr"]), tuple(file["adj_shape"])
        ).tocoo()
        y = torch.from_numpy(file["labels"]).long()
    x.sum_duplicates()
    x.data[x.data > 0] = 1
    x.eliminate_zeros()
    edges = torch.from_numpy(np.stack([adjacency.row, adjacency.col])).long()
    edges = to_undirected(remove_self_loops(edges)[0], num_nodes=x.shape[0])
    return Data(x=to_csr_or_dense(x), edge_index=edges, y=y)


def read_heterophilous(path: Path) -> tuple[Data, Masks]:
    """As ``torch_geometric.datasets.HeterophilousGraphDataset``: the graph and its splits, a column for each.

    The file lists each undirected edge once; the graph has both directions.
    """
    with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
        x, y, edges = (torch.from_numpy(file[key]) for key in ("node_features", "node_labels", "edges"))
        train, validation, test = (
            torch.from_numpy(file[f"{part}_masks"]).bool().T.contiguous() for part in ("train", "val", "test")
        )
    edges = to_undirected(edges.T.long(), num_nodes=len(x))
    return Data(x=to_csr_or_dense(x.float()), edge_index=edges, y=y.long()), (train, validation, test)
