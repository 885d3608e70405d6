"""Splits that recipes and representations are compared on: made of training and validation nodes only."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from girl import splits
from girl.datasets.dataset import NodeDataset
from girl.splits import Split

#: Resampled splits of a fixed protocol, and training nodes of each class in the low-label one.
RESAMPLED = 6
PER_CLASS = 20


def search_splits(dataset: NodeDataset, protocol: str, seed: int) -> Iterator[Split]:
    """Splits to score a recipe on; none of them contains a test node of the protocol's own split.

    A random protocol is scored on its validation nodes. A fixed one has a single small validation set, on which the
    best of many trials is mostly luck: its training and validation nodes are split again, several times, with 20
    training nodes of each class under ``public`` and two thirds of them all under ``full``.
    """
    split = splits.get(protocol).split(dataset, seed)
    if protocol not in ("public", "full"):
        yield Split(split.train, split.val, split.val)
        return
    pool = torch.cat([split.train, split.val])
    y = dataset.data.y[pool]
    for draw in range(RESAMPLED):
        order = torch.randperm(len(pool), generator=torch.Generator().manual_seed(draw))
        if protocol == "public":
            train = torch.cat([order[y[order] == label][:PER_CLASS] for label in y.unique()])
        else:
            train = order[: 2 * len(order) // 3]
        is_val = torch.ones(len(pool), dtype=torch.bool)
        is_val[train] = False
        val = pool[is_val].sort().values
        yield Split(pool[train].sort().values, val, val)
