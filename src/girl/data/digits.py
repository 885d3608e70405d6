"""scikit-learn's handwritten digits as a graph: real data that needs no download."""

from __future__ import annotations

import numpy as np
import torch
from torch_geometric.data import Data

#: Nearest neighbours that a digit is joined to.
NEIGHBOURS = 10


def digits() -> Data:
    """1,797 images of 8 × 8 pixels in [0, 1]; an edge where one is among the other's ten nearest."""
    from sklearn.datasets import load_digits
    from sklearn.neighbors import kneighbors_graph

    pixels, labels = load_digits(return_X_y=True)
    pixels = pixels / 16
    nearest = kneighbors_graph(pixels, NEIGHBOURS)
    both = (nearest + nearest.T).tocoo()
    edges = torch.from_numpy(np.stack([both.row, both.col])).long()
    order = (edges[0] * len(labels) + edges[1]).argsort()
    return Data(x=torch.from_numpy(pixels).float(), edge_index=edges[:, order], y=torch.from_numpy(labels).long())
