"""A small node classification problem, and recipes for it."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch_geometric.data import Data

from girl.training.batch import make_batch
from girl.training.labels import Labels
from girl.training.state import TrainSettings
from girl.training.supervised import ClassifierSettings, RegularizerSettings, SupervisedRecipe

SMALL = SupervisedRecipe(
    ClassifierSettings(depth=3, hidden=16),
    RegularizerSettings(rank=16),
    TrainSettings(epochs=12, lr=1e-2, save_every=1),
)


def problem(n=200, multilabel=False, seed=0):
    """Neighbours mostly share a class, and features depend on it. Half of the nodes train."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 4
    pairs = torch.randint(n, (2, 10 * n), generator=generator)
    pairs = pairs[:, (y[pairs[0]] == y[pairs[1]]) | (torch.rand(10 * n, generator=generator) < 0.1)]
    x = torch.randn(n, 12, generator=generator) + 2 * torch.eye(12)[y]
    order = torch.randperm(n, generator=generator)
    label = torch.nn.functional.one_hot(y) if multilabel else y
    parts = [part.sort().values for part in order.split([n // 2, n // 4, n - n // 2 - n // 4])]
    labels = Labels(label, parts[0], parts[1], 4)
    return make_batch(Data(x=x, edge_index=pairs), SMALL.model.encoder), labels, parts[2]


def recipe_with(kind, **train):
    recipe = replace(SMALL, regularizer=replace(SMALL.regularizer, regularizer=kind))
    return replace(recipe, train=replace(recipe.train, **train))
