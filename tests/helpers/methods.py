"""Small methods on small graphs."""

from __future__ import annotations

import torch

from girl.nn.encoder import EncoderSettings


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def build(method, settings, data, **encoder):
    """A method on two GCN layers of width 8, before its first step."""
    torch.manual_seed(0)
    encoder = {"conv": "gcn", "hidden": 8, "layers": 2, "keep": 0.0, **encoder}
    return method(data.x.shape[1], EncoderSettings(**encoder), settings)


def build_for_sets(method, settings, data, **encoder):
    """A method on two GIN layers of width 8, both of which represent a node."""
    return build(method, settings, data, **{"conv": "gin", "output": "layers", "unit": False, **encoder})
