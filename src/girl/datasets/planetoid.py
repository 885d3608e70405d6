"""The raw files of Cora, CiteSeer and PubMed, which are pickles: read as arrays, and as nothing else.

A pickle is a program that its reader runs. ``torch_geometric`` runs whatever the file says; here a file may build
arrays, sparse matrices, lists and dictionaries, and one that asks for anything more is refused before it is run.
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

#: Validation nodes of the public split: those that follow the training nodes.
VALIDATION = 500

#: What numpy's own pickles call to make an array.
_reconstruct = np.empty(0).__reduce__()[0]

#: What a file may name, under the names that its writers' libraries had.
_ADMITTED: dict[tuple[str, str], Any] = {
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
            return _ADMITTED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is no array: it was not run") from None


def read_arrays(path: Path) -> Any:
    """The arrays in a pickle; raises ``pickle.UnpicklingError`` if there is anything else in it."""
    with path.open("rb") as file:
        return _Arrays(file, encoding="latin1").load()


def read_planetoid(folder: Path, name: str) -> Data:
    """What ``torch_geometric.datasets.Planetoid`` makes of the files, attributes as CSR, with the public split."""

    def table(part: str) -> scipy.sparse.csr_matrix:
        return scipy.sparse.csr_matrix(read_arrays(folder / f"ind.{name}.{part}"), dtype=np.float32)

    order = torch.from_numpy(np.loadtxt(folder / f"ind.{name}.test.index", dtype=np.int64, ndmin=1))
    train = len(read_arrays(folder / f"ind.{name}.y"))
    x, y = (_stacked(table(f"all{part}"), table(f"t{part}"), order) for part in ("x", "y"))
    labels = torch.from_numpy(np.asarray(y.argmax(1)).ravel())
    graph: dict[int, list[int]] = read_arrays(folder / f"ind.{name}.graph")
    source = np.repeat(list(graph), [len(heard) for heard in graph.values()])
    target = np.concatenate([np.asarray(heard, dtype=np.int64) for heard in graph.values()])
    # Loops, and edges given twice, are dropped, as by the class.
    edges, _ = remove_self_loops(torch.from_numpy(np.stack([source, target])))
    found = Data(x=to_csr_or_dense(x), y=labels, edge_index=coalesce(edges, num_nodes=len(labels), sort_by_row=False))
    parts = torch.arange(train), torch.arange(train, train + VALIDATION), order
    found.train_mask, found.val_mask, found.test_mask = (index_to_mask(part, len(labels)) for part in parts)
    return found


def _stacked(first: scipy.sparse.csr_matrix, test: scipy.sparse.csr_matrix, order: Tensor) -> scipy.sparse.csr_matrix:
    """The rows of ``first``, and behind them those of ``test``, each at its place; where there is none, zeros.

    CiteSeer lacks fifteen test nodes: they have no words, no links and no class.
    """
    places = order.numpy()
    low = int(places.min())
    size = int(places.max()) - low + 1
    if size > 2 * len(places) or len(np.unique(places)) < len(places):
        raise ValueError("the test nodes are scattered, or one is there twice")
    entries = np.ones(len(places), np.float32), (places - low, np.arange(len(places)))
    put = scipy.sparse.csr_matrix(entries, shape=(size, len(places)))
    return scipy.sparse.vstack([first, put @ test]).tocsr()
