"""The raw files of Cora, CiteSeer and PubMed, which are pickles, read without executing foreign code.

A pickle is a program that its reader executes. ``torch_geometric`` executes whatever the file says; here a file may
build arrays, sparse matrices, lists and dictionaries, and one that asks for anything else is refused before it runs.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, index_to_mask, remove_self_loops

from girl.kernel.sparse import to_csr_or_dense

#: Validation nodes of the public split: those after the training nodes.
VALIDATION = 500

#: The function that numpy's own pickles call to make an array.
_reconstruct = np.empty(0).__reduce__()[0]

#: What a file may use, under the names in old and new versions of the libraries.
_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("scipy.sparse.csr", "csr_matrix"): scipy.sparse.csr_matrix,
    ("scipy.sparse._csr", "csr_matrix"): scipy.sparse.csr_matrix,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
}


class _Arrays(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is no array: it was not run") from None


def read_arrays(path: Path) -> Any:
    """The arrays in a pickle; raises ``pickle.UnpicklingError`` if it holds anything else."""
    with path.open("rb") as file:
        return _Arrays(file, encoding="latin1").load()


def read_planetoid(folder: Path, name: str) -> Data:
    """As ``torch_geometric.datasets.Planetoid``, with features as CSR and the public split."""

    def table(part: str) -> scipy.sparse.csr_matrix:
        return scipy.sparse.csr_matrix(read_arrays(folder / f"ind.{name}.{part}"), dtype=np.float32)

    order = torch.from_numpy(np.loadtxt(folder / f"ind.{name}.test.index", dtype=np.int64, ndmin=1))
    train = len(read_arrays(folder / f"ind.{name}.y"))
    x, y = (_stacked(table(f"all{part}"), table(f"t{part}"), order) for part in ("x", "y"))
    labels = torch.from_numpy(np.asarray(y.argmax(1)).ravel())
    graph: dict[int, list[int]] = read_arrays(folder / f"ind.{name}.graph")
    source = np.repeat(list(graph), [len(neighbors) for neighbors in graph.values()])
    target = np.concatenate([np.asarray(neighbors, dtype=np.int64) for neighbors in graph.values()])
    # Self-loops and repeated edges are dropped, as in Planetoid.
    edges, _ = remove_self_loops(torch.from_numpy(np.stack([source, target])))
    data = Data(x=to_csr_or_dense(x), y=labels, edge_index=coalesce(edges, num_nodes=len(labels), sort_by_row=False))
    parts = torch.arange(train), torch.arange(train, train + VALIDATION), order
    data.train_mask, data.val_mask, data.test_mask = (index_to_mask(part, len(labels)) for part in parts)
    return data


def _stacked(first: scipy.sparse.csr_matrix, test: scipy.sparse.csr_matrix, order: Tensor) -> scipy.sparse.csr_matrix:
    """The rows of ``first``, then those of ``test`` in the order of their node ids; missing rows are zero.

    CiteSeer lacks fifteen test nodes: they have no words, no links and no class.
    """
    ids = order.numpy()
    first_id = int(ids.min())
    size = int(ids.max()) - first_id + 1
    if size > 2 * len(ids) or len(np.unique(ids)) < len(ids):
        raise ValueError("the test nodes are scattered, or one is listed twice")
    entries = np.ones(len(ids), np.float32), (ids - first_id, np.arange(len(ids)))
    permutation = scipy.sparse.csr_matrix(entries, shape=(size, len(ids)))
    return scipy.sparse.vstack([first, permutation @ test]).tocsr()
