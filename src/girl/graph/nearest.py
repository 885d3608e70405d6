"""Rows of a table as a graph: each is joined to its nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from girl.errors import InputError


def nearest_neighbours(rows: Any, count: int) -> Tensor:
    """Edges between rows of which one is among the other's ``count`` nearest (2 × m, both directions, in order)."""
    from sklearn.neighbors import kneighbors_graph

    if count < 1:
        raise InputError(f"neighbors: given {count}, expected at least 1")
    n = rows.shape[0]
    nearest = kneighbors_graph(rows, min(count, n - 1))
    both = (nearest + nearest.T).tocoo()
    edges = torch.from_numpy(np.stack([both.row, both.col])).long()
    return edges[:, (edges[0] * n + edges[1]).argsort()]
