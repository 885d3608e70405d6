"""A graph from the rows of a table: each row is joined to its nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from girl.errors import InputError


def nearest_neighbors(rows: Any, count: int) -> Tensor:
    """Edges (2 × m, both directions, sorted) between rows of which one is among the other's ``count`` nearest."""
    from sklearn.neighbors import kneighbors_graph

    if count < 1:
        raise InputError(f"neighbors: given {count}, expected at least 1")
    nearest = kneighbors_graph(rows, min(count, rows.shape[0] - 1))
    both = (nearest + nearest.T).tocsr()
    both.sort_indices()
    return torch.from_numpy(np.stack(both.nonzero())).long()
