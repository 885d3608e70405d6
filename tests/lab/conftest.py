from __future__ import annotations

import pytest

from girl.lab.render import arenas
from girl.lab.scores import Scores


def cells(**means):
    """Results of two datasets; ``means`` gives each method its accuracies there."""
    found = []
    for method, values in means.items():
        for dataset, protocol, value in zip(("cora", "texas"), ("public", "geom-gcn"), values, strict=True):
            for seed in range(3):
                row = {"protocol": protocol, "probe": "linear", "test": value + 0.001 * seed, "val": value}
                cell = {"dataset": dataset, "method": method, "seed": seed, "rows": [row], "train_gb": 0.5}
                looks = [{"epoch": e, "seconds": 0.2 * e, "val": value - 0.1 / e} for e in (1, 4, 10)]
                found.append(cell | {"epochs": 10, "train_seconds": 2.0, "looks": looks, "best_seconds": 0.8})
    return found


@pytest.fixture
def cells_of():
    return cells


@pytest.fixture
def scores():
    nodes, _ = arenas()
    peers = dict.fromkeys(nodes.methods, (0.7, 0.5))
    return Scores(cells(raw=(0.6, 0.5), untrained=(0.7, 0.6), **(peers | {"girl": (0.8, 0.7), "dgi": (0.82, 0.6)})))
