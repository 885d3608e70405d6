"""scikit-learn's handwritten digits as a graph: real data that needs no download."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

from girl.graph.nearest import nearest_neighbours

#: Nearest neighbours that a digit is connected to.
NEIGHBOURS = 10


def digits() -> Data:
    """1,797 images of 8 × 8 pixels in [0, 1], each connected to its ten nearest neighbours."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    pixels = pixels / 16
    edges = nearest_neighbours(pixels, NEIGHBOURS)
    return Data(x=torch.from_numpy(pixels).float(), edge_index=edges, y=torch.from_numpy(labels).long())
