"""A small graph in which neighbours share a group and features depend on it, and a recipe for it."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

from girl.training.recipe import Recipe

SMALL = Recipe.encoder_default().with_values({"hidden": 16, "rank": 16, "target_rank": 8, "epochs": 4})


def clustered(n=120, seed=0):
    """Neighbours share a group, and features speak of it."""
    generator = torch.Generator().manual_seed(seed)
    group = torch.arange(n) % 4
    pairs = torch.randint(n, (2, 8 * n), generator=generator)
    pairs = pairs[:, group[pairs[0]] == group[pairs[1]]]
    noise = torch.randn(n, 12, generator=generator)
    return Data(x=noise + 2 * torch.eye(12)[group], edge_index=pairs, y=group)
